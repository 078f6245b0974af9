package org.rdmapanama.samples.today;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.rdmapanama.samples.ByteSize;

/** The table of results, and the notes on how to read it. */
final class TodayTable {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");
    private static final String EMULATED = "QEMU TCG";

    /** Drivers of the kernel's software devices, and that of soft0. */
    private static final Set<String> SOFTWARE = Set.of("rxe", "siw", "soft");

    private static final String SOFT = "soft";
    private static final double MEBIBYTE = 1 << 20;

    private final PrintWriter out;
    private final long bytes;
    private final Map<TransferMethod, List<Sample>> samples;

    TodayTable(PrintWriter out, long bytes, Map<TransferMethod, List<Sample>> samples) {
        this.out = out;
        this.bytes = bytes;
        this.samples = samples;
    }

    void print(Ends ends, String sending, String receiving, String directObstacle) throws IOException {
        String rounds = ByteSize.format(bytes) + ", median of "
                + samples.get(TransferMethod.MEMORY).size();
        section(
                String.format("%-52s %10s   %s", "", "throughput", "processor time, s per GiB"),
                String.format("%-52s %10s   %8s %8s %8s %8s", rounds, "MiB/s", "sender", "receiver", "both", "machine"),
                way -> row(way.title(), measured(way)));
        section(
                String.format("%-52s %9s   %17s   %17s", "", "copies", "sender", "receiver"),
                String.format(
                        "%-52s %4s %4s   %8s %8s   %8s %8s",
                        "copies and context switches", "CPU", "DMA", "vol.", "invol.", "vol.", "invol."),
                way -> switches(way, measured(way)));
        section(
                String.format("%-52s %s", "", "sender" + " ".repeat(45) + "receiver"),
                String.format(
                        "%-52s %8s %8s %8s %8s %8s   %8s %8s",
                        "calls of read, write and sendfile, and MiB moved",
                        "reads",
                        "MiB",
                        "writes",
                        "MiB",
                        "storage",
                        "reads",
                        "MiB"),
                way -> calls(way.title(), measured(way)));
        out.println();
        notes(ends, sending.split(" ", -1), receiving.split(" ", -1)).forEach(out::println);
        countNotes(missing(), directObstacle).forEach(out::println);
        out.flush();
    }

    private void section(String head, String columns, Function<TransferMethod, String> row) {
        out.println();
        out.println(head);
        out.println(columns);
        for (TransferMethod way : TransferMethod.values()) {
            out.println(row.apply(way));
        }
    }

    private List<Sample> measured(TransferMethod way) {
        return samples.getOrDefault(way, List.of());
    }

    /** Says why counts are missing; empty if none are. */
    private String missing() {
        return samples.values().stream()
                .flatMap(List::stream)
                .flatMap(sample -> Stream.of(sample.ofSender(), sample.ofReceiver()))
                .map(Counts::missing)
                .filter(why -> !why.isEmpty())
                .findFirst()
                .orElse("");
    }

    /** Formats a number, or a dash if it is not known. */
    private static String figure(String format, int width, double number) {
        return String.format(
                Locale.ROOT,
                "%" + width + "s",
                Double.isNaN(number) ? "-" : String.format(Locale.ROOT, format, number));
    }

    static String row(String title, List<Sample> measured) {
        return String.format(
                Locale.ROOT,
                "%-52s %s   %s %s %s %s",
                title,
                figure("%.1f", 10, Sample.median(measured, Sample::rate)),
                figure("%.3f", 8, Sample.senderEach(measured)),
                figure("%.3f", 8, Sample.receiverEach(measured)),
                figure("%.3f", 8, Sample.bothEach(measured)),
                figure("%.3f", 8, Sample.machineEach(measured)));
    }

    static String switches(TransferMethod way, List<Sample> measured) {
        return String.format(
                Locale.ROOT,
                "%-52s %4d %4d   %s %s   %s %s",
                way.title(),
                way.path().byCpu(),
                way.path().byDma(),
                count(measured, sample -> sample.ofSender().voluntary()),
                count(measured, sample -> sample.ofSender().involuntary()),
                count(measured, sample -> sample.ofReceiver().voluntary()),
                count(measured, sample -> sample.ofReceiver().involuntary()));
    }

    static String calls(String title, List<Sample> measured) {
        return String.format(
                Locale.ROOT,
                "%-52s %s %s %s %s %s   %s %s",
                title,
                count(measured, sample -> sample.ofSender().reads()),
                mebibytes(measured, sample -> sample.ofSender().bytesRead()),
                count(measured, sample -> sample.ofSender().writes()),
                mebibytes(measured, sample -> sample.ofSender().bytesWritten()),
                mebibytes(measured, sample -> sample.ofSender().fromStorage()),
                count(measured, sample -> sample.ofReceiver().reads()),
                mebibytes(measured, sample -> sample.ofReceiver().bytesRead()));
    }

    private static String count(List<Sample> measured, ToDoubleFunction<Sample> number) {
        return figure("%.0f", 8, Sample.median(measured, number));
    }

    private static String mebibytes(List<Sample> measured, ToDoubleFunction<Sample> bytes) {
        return figure("%.1f", 8, Sample.median(measured, bytes) / MEBIBYTE);
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
                + " read, except by direct I/O. "
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

    /** Returns the notes on what was counted, wrapped as well. */
    static List<String> countNotes(String missing, String directObstacle) {
        return wrapped(
                "The copies are not measured: they are those between two hosts with network cards, as 'bin/rdma learn 0'"
                        + " draws them. The one from the disk is made once, unless direct I/O is used: then the file is"
                        + " in the page cache. All else is counted by the kernel, for one transfer and all threads of the"
                        + " process. A context switch is voluntary if the thread has to wait, and involuntary if the"
                        + " kernel gives the processor to another thread. Reads and writes are calls of read, write and"
                        + " their variants on files, pipes and sockets; sendfile counts as one of each. No other system"
                        + " calls are counted, neither sendmsg and recvmsg nor mmap, poll, futex and ioctl. '-' stands for"
                        + " what is not known: a time for which the interval was too short, or what a line below explains.\n"
                        + (missing.isEmpty() ? "" : "Not counted: " + missing + "\n")
                        + (directObstacle.isEmpty()
                                ? ""
                                : "The file could not be read by direct I/O (" + directObstacle
                                        + "): name a directory on a disk with --file\n"));
    }

    private static List<String> wrapped(String text) {
        return text.lines()
                .map(paragraph -> paragraph.replaceAll("(.{1,100})(?: |$)", "$1\n"))
                .flatMap(String::lines)
                .toList();
    }
}
