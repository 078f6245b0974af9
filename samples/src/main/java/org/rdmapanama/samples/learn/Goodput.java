package org.rdmapanama.samples.learn;

import java.util.Comparator;
import java.util.List;

/**
 * What A has measured in a network.
 *
 * @param bytes the bytes of completed writes
 * @param nanos in so many nanoseconds
 * @param packets the packets that took
 * @param repeated the packets that were sent once more
 * @param notifications how often B has told of marks
 */
record Goodput(long bytes, long nanos, long packets, long repeated, long notifications) {
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int VALUES = 5;

    /** Returns the goodput in MiB/s. */
    double rate() {
        return bytes / (double) (1 << 20) / (nanos / NANOS_PER_SECOND);
    }

    /** Returns the one whose goodput is the median, of an odd number. */
    static Goodput median(List<Goodput> measured) {
        return measured.stream()
                .sorted(Comparator.comparingDouble(Goodput::rate))
                .toList()
                .get(measured.size() / 2);
    }

    /** Writes it as words. */
    String words() {
        return bytes + " " + nanos + " " + packets + " " + repeated + " " + notifications;
    }

    /** Reads what {@link #words} wrote. */
    static Goodput of(String words) {
        String[] each = words.strip().split(" ", VALUES);
        return new Goodput(
                Long.parseLong(each[0]),
                Long.parseLong(each[1]),
                Long.parseLong(each[2]),
                Long.parseLong(each[3]),
                Long.parseLong(each[4]));
    }
}
