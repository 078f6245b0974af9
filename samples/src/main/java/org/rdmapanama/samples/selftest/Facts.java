package org.rdmapanama.samples.selftest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.rdmapanama.Context;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.samples.DeviceReport;
import org.rdmapanama.samples.GidText;

/** What a reader of the report must know about the machine, its software and the device. */
final class Facts {
    private static final String UNKNOWN = "unknown";

    private Facts() {}

    static void write(SelftestReport report, Subject subject, String version) {
        report.table("", "");
        report.row("version", version);
        report.row(
                "Java",
                Runtime.version() + ", " + System.getProperty("java.vm.name") + ", "
                        + System.getProperty("java.vendor"));
        report.row(
                "system",
                valueOf("/etc/os-release", "PRETTY_NAME=") + ", " + System.getProperty("os.name") + " "
                        + System.getProperty("os.version") + ", " + System.getProperty("os.arch"));
        report.row(
                "processors",
                Runtime.getRuntime().availableProcessors() + " of " + valueOf("/proc/cpuinfo", "model name"));
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, subject.device());
            report.row("libraries", libraries(context.driverName()));
            report.row("GID", gid(context, subject));
            report.line("");
            report.line("```");
            new DeviceReport(report.writer(), false).print(subject.device(), context, subject.port());
            report.line("```");
        }
    }

    /** Returns the rest of the first line of a file that begins with a key. */
    private static String valueOf(String file, String key) {
        try (Stream<String> lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(key))
                    .map(line -> line.substring(key.length()).replaceAll("^[\\s:=]*\"?|\"$", ""))
                    .findFirst()
                    .orElse(UNKNOWN);
        } catch (IOException | UncheckedIOException e) {
            return UNKNOWN;
        }
    }

    /**
     * Returns the files of rdma-core that this process uses. Their names end with the version of rdma-core, {@code 56.0}
     * for example, except those of drivers without functions of their own.
     */
    private static String libraries(String driver) {
        TreeSet<String> names = new TreeSet<>();
        try {
            List<String> maps = Files.readAllLines(Path.of("/proc/self/maps"));
            for (String line : maps) {
                int path = line.indexOf('/');
                String name = path < 0
                        ? ""
                        : Path.of(line.substring(path)).getFileName().toString();
                if (name.matches("lib(ibverbs|rdmacm)\\.so.*")
                        || name.matches("lib" + Pattern.quote(driver) + "\\b.*")) {
                    names.add(name);
                }
            }
        } catch (IOException e) {
            return UNKNOWN;
        }
        return names.isEmpty() ? "no library of rdma-core" : String.join(", ", names);
    }

    private static String gid(Context context, Subject subject) {
        int index = subject.options().gidIndex();
        Optional<GidEntry> entry =
                index < 0 ? context.preferredGid(subject.port()) : context.queryGidEntry(subject.port(), index);
        return entry.map(Facts::text).orElse("none");
    }

    private static String text(GidEntry entry) {
        return "index " + entry.index() + ": " + GidText.of(entry.gid()) + ", " + entry.type()
                + entry.netDeviceName().map(name -> ", " + name).orElse("");
    }
}
