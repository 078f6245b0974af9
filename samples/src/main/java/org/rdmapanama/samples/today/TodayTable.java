package org.rdmapanama.samples.today;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.samples.ByteSize;

/** What was measured, and what is to be known about it. */
final class TodayTable {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final String EMULATED = "QEMU TCG";

    /** Drivers of devices that are code of the kernel, and that of soft0. */
    private static final Set<String> SOFTWARE = Set.of("rxe", "siw", "soft");

    private static final String SOFT = "soft";

    private final PrintWriter out;
    private final long bytes;
    private final Map<Way, List<Sample>> samples;

    TodayTable(PrintWriter out, long bytes, Map<Way, List<Sample>> samples) {
        this.out = out;
        this.bytes = bytes;
        this.samples = samples;
    }

    void print(Ends ends, String sending, String receiving) throws IOException {
        out.println();
        out.printf("%-52s %10s   %s%n", "", "throughput", "processor time, s for each GiB");
        out.printf(
                "%-52s %10s   %8s %8s %8s %8s%n",
                ByteSize.format(bytes) + ", median of "
                        + samples.get(Way.MEMORY).size(),
                "MiB/s",
                "sender",
                "receiver",
                "both",
                "machine");
        for (Way way : Way.values()) {
            out.println(row(way.title, samples.get(way)));
        }
        out.println();
        notes(ends, sending.split(" ", -1), receiving.split(" ", -1)).forEach(out::println);
        out.flush();
    }

    static String row(String title, List<Sample> measured) {
        return String.format(
                Locale.ROOT,
                "%-52s %10.1f   %8.3f %8.3f %8.3f %8.3f",
                title,
                Sample.median(measured, Sample::rate),
                Sample.median(measured, Sample::senderEach),
                Sample.median(measured, Sample::receiverEach),
                Sample.median(measured, Sample::bothEach),
                Sample.median(measured, Sample::machineEach));
    }

    private List<String> notes(Ends ends, String[] sending, String[] receiving) throws IOException {
        boolean emulated = Files.readString(PROCESSORS).contains(EMULATED);
        return notes(
                ends.networkDevice().getName(),
                Sample.median(samples.get(Way.MEMORY), sample -> (double) sample.crossed()) >= bytes,
                sending[0].equals(receiving[0]) ? sending[0] + " is" : sending[0] + " and " + receiving[0] + " are",
                sending[1],
                emulated);
    }

    /** What is to be known, in lines of an honest width. */
    static List<String> notes(String network, boolean crosses, String devicesAre, String driver, boolean emulated) {
        String text = "Every byte was checked, outside of the time. The file was in the page cache: no disk was read. "
                + (crosses
                        ? "TCP really left through " + network + ". "
                        : "TCP did not leave through " + network
                                + ": the kernel delivered it inside of this machine, which is faster than any wire. ")
                + "'machine' is what all processors did meanwhile. It has what the kernel does in interrupts and in"
                + " threads of its own, which cannot be told apart by process (some of it is counted with whichever was"
                + " running), and everything else that ran here.\n"
                + (SOFTWARE.contains(driver)
                        ? devicesAre
                                + (driver.equals(SOFT)
                                        ? " software, in Java: each process builds every packet, copies every byte and"
                                                + " computes a checksum of it in its own time, on both sides."
                                        : " software: the kernel builds every packet, copies every byte and, in Soft-RoCE,"
                                                + " computes a checksum of it, on both sides, partly in the time of these"
                                                + " two processes.")
                                + " So the rows of RDMA show what this emulation costs, and nothing of a card, which moves"
                                + " the data without the processors: there a program has to post a request for each MiB"
                                + " and to sleep, and throughput is the wire's. The rows of TCP are what they are.\n"
                        : devicesAre
                                + " hardware, which moves the data without the processors; both ends in one machine"
                                + " share its memory and its bus.\n")
                + (emulated
                        ? "The processor itself is emulated, by qemu, and JVMs run with one of their two compilers here:"
                                + " compare the rows with each other, not with other machines.\n"
                        : "");
        return wrapped(text);
    }

    private static List<String> wrapped(String text) {
        return text.lines()
                .map(paragraph -> paragraph.replaceAll("(.{1,100})(?: |$)", "$1\n"))
                .flatMap(String::lines)
                .toList();
    }
}
