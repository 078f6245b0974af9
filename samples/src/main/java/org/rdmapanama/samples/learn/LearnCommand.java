package org.rdmapanama.samples.learn;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.rdmapanama.samples.CommonOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Lists the lessons about verbs, or runs one. */
@Command(
        name = "learn",
        description = {
            "Learn verbs in short lessons, which run on the device soft0 in this process and show its packets.",
            "docs/LEARN.md explains the lessons and shows their code.",
        },
        sortOptions = false)
public final class LearnCommand implements Callable<Integer> {
    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "LESSON",
            description = "Number of a lesson; lists the lessons if omitted.")
    private Integer number;

    @Option(
            names = "--serve",
            description = "Lesson 13: run only the side that lends memory, for the other one in another terminal.")
    private boolean serve;

    @Option(
            names = "--to",
            paramLabel = "HOST:PORT",
            description = "Lesson 13: run only the side that uses the memory; --serve says where that is.")
    private String address;

    @Option(names = "--headers", description = "Also show the headers of the first packet of each kind, byte by byte.")
    private boolean headers;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = {
                "Run all lessons, and write them to FILE as a page for a browser: the text of docs/LEARN.md, with the",
                "outputs and the pictures of this run. The page loads nothing from elsewhere."
            })
    private Path page;

    @Option(
            names = "--try",
            paramLabel = "FILE",
            description = "Run the statements in FILE in the place of a lesson; docs/EXERCISES.md has exercises.")
    private Path tried;

    /** For picocli. */
    public LearnCommand() {}

    @Override
    public Integer call() throws Exception {
        PrintWriter out = spec.commandLine().getOut();
        Lesson[] lessons = Lesson.values();
        checkSides();
        if (page != null) {
            writePage(out);
            return 0;
        }
        if (tried != null) {
            if (number != null || serve || address != null) {
                throw new ParameterException(
                        spec.commandLine(), "--try runs the statements of a file: give no lesson, --serve or --to");
            }
            Lesson.runWithPackets(out, headers, statements());
            return 0;
        }
        if (number == null) {
            if (headers) {
                throw new ParameterException(spec.commandLine(), "--headers is for a lesson: give its number");
            }
            for (Lesson lesson : lessons) {
                out.println(String.format(Locale.ROOT, "bin/rdma learn %-4d %s", lesson.number(), lesson.title()));
            }
            out.println();
            out.println(
                    "docs/LEARN.md explains the lessons and shows their code, and docs/EXERCISES.md has exercises.");
            out.println("'bin/rdma learn --html FILE' writes a page with all lessons.");
            out.flush();
            return 0;
        }
        if (number < 0 || number >= lessons.length) {
            throw new ParameterException(
                    spec.commandLine(), "the lesson must be between 0 and " + (lessons.length - 1) + ", not " + number);
        }
        Lesson lesson = lessons[number];
        if (headers && !lesson.hasPackets()) {
            throw new ParameterException(spec.commandLine(), "--headers is for a lesson with packets, not " + number);
        }
        if (serve) {
            lesson.run(out, headers, WholeTransfer::lend);
        } else if (address != null) {
            InetSocketAddress lender = WrongUsage.address(spec.commandLine(), address, "");
            lesson.run(out, headers, board -> WholeTransfer.use(lender, board));
        } else {
            lesson.run(out, headers);
        }
        return 0;
    }

    private Lesson.Body statements() throws IOException {
        try {
            return TriedCode.of(tried);
        } catch (TriedCode.Mistakes e) {
            PrintWriter err = spec.commandLine().getErr();
            err.println(e.getMessage());
            err.println();
            throw new Failure(tried + " does not compile; mistakes: " + e.count(), e);
        }
    }

    private void writePage(PrintWriter out) throws Exception {
        if (number != null) {
            throw new ParameterException(
                    spec.commandLine(), "--html writes all lessons to a page: leave out the number " + number);
        }
        if (headers || tried != null) {
            throw new ParameterException(
                    spec.commandLine(), (headers ? "--headers" : "--try") + " and --html exclude each other");
        }
        LearnPageFile.write(page, out);
        out.println("the lessons are in " + page + ": open it in a browser");
        out.flush();
    }

    private void checkSides() {
        if (serve && address != null) {
            throw new ParameterException(spec.commandLine(), "--serve and --to exclude each other");
        }
        int transfer = Lesson.TRANSFER.number();
        if ((serve || address != null) && (number == null || number != transfer)) {
            throw new ParameterException(
                    spec.commandLine(),
                    (serve ? "--serve" : "--to") + " is for lesson " + transfer + ", which has two sides");
        }
    }
}
