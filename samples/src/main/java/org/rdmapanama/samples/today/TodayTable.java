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

/** The table of results, and the notes on how to read it. */
final class TodayTable {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final String EMULATED = "QEMU TCG";

    /** Drivers of the kernel's software devices, and that of soft0. */
    private static final Set<String> SOFTWARE = Set.of("rxe", "siw", "soft");

    private static final String SOFT = "soft";

    private final PrintWriter out;
    private final long bytes;
    private final Map<TransferMethod, List<Sample>> samples;

    TodayTable(PrintWriter out, long bytes, Map<TransferMethod, List<Sample>> samples) {
        this.out = out;
        this.bytes = bytes;
        this.samples = samples;
    }

    void print(Ends ends, String sending, String receiving) throws IOException {
        out.println();
        out.printf("%-52s %10s   %s%n", "", "throughput", "processor time, s per GiB");
        out.printf(
                "%-52s %10s   %8s %8s %8s %8s%n",
                ByteSize.format(bytes) + ", median of "
                        + samples.get(TransferMethod.MEMORY).size(),
                "MiB/s",
                "sender",
                "receiver",
                "both",
                "machine");
        for (TransferMethod way : TransferMethod.values()) {
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
                Sample.median(samples.get(TransferMethod.MEMORY), sample -> (double) sample.crossed()) >= bytes,
                sending[0].equals(receiving[0]) ? sending[0] + " is" : sending[0] + " and " + receiving[0] + " are",
                sending[1],
                emulated);
    }

    /** Returns the notes, wrapped to lines of about 100 characters. */
    static List<String> notes(String network, boolean crosses, String devicesAre, String driver, boolean emulated) {
        String text = "Every byte was checked, outside the measured time. The file was in the page cache: no disk was"
                + " read. "
                + (crosses
                        ? "TCP traffic left through " + network + ". "
                        : "TCP traffic did not leave through " + network
                                + ": the kernel delivered the data inside this machine, which is faster than any wire."
                                + " ")
                + "'machine' is the busy time of all processors. It includes the kernel's work in interrupts and in its"
                + " own threads, which cannot be attributed to a process (some of it is counted with whichever process"
                + " was running), and everything else that ran here.\n"
                + (SOFTWARE.contains(driver)
                        ? devicesAre
                                + (driver.equals(SOFT)
                                        ? " software, in Java: on both sides the process itself builds every packet,"
                                                + " copies every byte and computes a checksum of it."
                                        : " software: on both sides the kernel builds every packet, copies every byte"
                                                + " and, in Soft-RoCE, computes a checksum of it, partly in the time of"
                                                + " these two processes.")
                                + " So the RDMA rows show the cost of this emulation, not that of a network card. A"
                                + " card moves the data without the processors: the program posts a request for each"
                                + " MiB and sleeps, and the wire limits the throughput. The TCP rows are not affected"
                                + " by it.\n"
                        : devicesAre
                                + " hardware, which moves the data without the processors; both ends are in one machine"
                                + " and share its memory and its bus.\n")
                + (emulated
                        ? "The processor itself is emulated by qemu, and JVMs use only one of their two compilers here:"
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
