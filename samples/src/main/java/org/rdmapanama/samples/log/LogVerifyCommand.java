package org.rdmapanama.samples.log;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Looks at the files of nodes, which may be running. */
@Command(
        name = "verify",
        description = {
            "Show the files of nodes, and check that they agree on what is committed.",
            "The status is 1 if they do not, or if a committed record is missing.",
        },
        sortOptions = false)
final class LogVerifyCommand implements Callable<Integer> {
    @Parameters(arity = "1..*", paramLabel = "FILE", description = "Files of nodes.")
    private List<Path> paths;

    @Option(
            names = {"-r", "--records"},
            description = "Print the records of the first file.")
    private boolean records;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        List<LogFile> files = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            for (Path each : paths) {
                files.add(LogFile.read(each, arena));
            }
            files.forEach(each -> show(each, out));
            if (records) {
                LogFile first = files.getFirst();
                for (long i = 1; i <= first.lastIndex(); i++) {
                    LogRecord each = first.record(i);
                    out.println(each.index() + " of term " + each.term() + ": " + each.text());
                }
            }
            List<String> problems = problems(files);
            problems.forEach(out::println);
            if (problems.isEmpty()) {
                out.println("the files agree on what is committed");
            }
            out.flush();
            return problems.isEmpty() ? 0 : 1;
        } catch (LogException e) {
            throw new Failure(e.getMessage(), e);
        } finally {
            files.forEach(LogFile::close);
        }
    }

    private static void show(LogFile file, PrintWriter out) {
        boolean torn =
                file.tail() + Long.BYTES <= file.capacity() && file.memory().get(LogFile.LONG, file.tail()) != 0;
        out.printf(
                "%s: node %x, term %d, %d records, the last of term %d, %d committed, tail at %d of %d%s%n",
                file.path(),
                file.node(),
                file.promisedTerm(),
                file.lastIndex(),
                file.lastTerm(),
                file.commitIndex(),
                file.tail(),
                file.capacity(),
                torn ? ", and behind it a record that does not check" : "");
    }

    /** Says where files differ up to what both know to be committed, and which lack what is. */
    static List<String> problems(List<LogFile> files) {
        List<String> problems = new ArrayList<>();
        for (LogFile each : files) {
            if (each.commitIndex() > each.lastIndex()) {
                problems.add(each.path() + " lacks committed records: it ends at " + each.lastIndex() + ", and "
                        + each.commitIndex() + " is committed");
            }
        }
        for (int i = 0; i < files.size(); i++) {
            for (int k = i + 1; k < files.size(); k++) {
                LogFile one = files.get(i);
                LogFile other = files.get(k);
                long most = Math.min(
                        Math.min(one.commitIndex(), one.lastIndex()), Math.min(other.commitIndex(), other.lastIndex()));
                long common = common(one, other, most);
                if (common < most) {
                    problems.add(one.path() + " and " + other.path() + " differ at record " + (common + 1)
                            + ", and both have committed " + most);
                }
            }
        }
        return problems;
    }

    /** Finds the last record of a common beginning; each checksum covers all before it. */
    private static long common(LogFile one, LogFile other, long most) {
        long low = 0;
        long high = Math.max(0, most);
        while (low < high) {
            long middle = (low + high + 1) >>> 1;
            if (one.endOf(middle) == other.endOf(middle) && Arrays.equals(one.header(middle), other.header(middle))) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }
}
