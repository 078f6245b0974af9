package org.rdmapanama.samples.today;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import org.rdmapanama.samples.ContextSwitches;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.IoCounts;

/**
 * What the kernel counted for a process during one transfer. A number is {@link Double#NaN} where the kernel does not tell.
 *
 * @param reads number of calls of read and sendfile
 * @param bytesRead number of bytes that they read
 * @param writes number of calls of write and sendfile
 * @param bytesWritten number of bytes that they wrote
 * @param fromStorage number of bytes fetched from storage
 * @param voluntary number of context switches of threads that had to wait
 * @param involuntary number of context switches of threads that could have continued
 * @param missing says why numbers are missing; empty if none are
 */
record Counts(
        double reads,
        double bytesRead,
        double writes,
        double bytesWritten,
        double fromStorage,
        double voluntary,
        double involuntary,
        String missing) {
    private static final int NUMBERS = 7;
    private static final String UNKNOWN = "-";

    /** Creates the counts; one that is missing is null. */
    static Counts of(IoCounts io, ContextSwitches switches, String missing) {
        double none = Double.NaN;
        return new Counts(
                io == null ? none : io.reads(),
                io == null ? none : io.bytesRead(),
                io == null ? none : io.writes(),
                io == null ? none : io.bytesWritten(),
                io == null ? none : io.fromStorage(),
                switches == null ? none : switches.voluntary(),
                switches == null ? none : switches.involuntary(),
                missing);
    }

    /** Returns what {@link #parse} understands. */
    String words() {
        return DoubleStream.of(reads, bytesRead, writes, bytesWritten, fromStorage, voluntary, involuntary)
                        .mapToObj(number -> Double.isNaN(number) ? UNKNOWN : Long.toString((long) number))
                        .collect(Collectors.joining(" "))
                + (missing.isEmpty() ? "" : " " + missing);
    }

    /** Parses the words of another process. */
    static Counts parse(String words) {
        List<String> parts = Arrays.asList(words.split(" ", NUMBERS + 1));
        if (parts.size() < NUMBERS) {
            throw new Failure("a process sent malformed counts: '" + words + "'");
        }
        double[] numbers = parts.subList(0, NUMBERS).stream()
                .mapToDouble(part -> part.equals(UNKNOWN) ? Double.NaN : Long.parseLong(part))
                .toArray();
        return new Counts(
                numbers[0],
                numbers[1],
                numbers[2],
                numbers[3],
                numbers[4],
                numbers[5],
                numbers[6],
                parts.size() > NUMBERS ? parts.get(NUMBERS) : "");
    }
}
