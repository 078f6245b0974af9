package org.rdmapanama.samples.today;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The cost of one transfer.
 *
 * @param bytes number of bytes moved
 * @param nanos duration, in nanoseconds
 * @param sender processor time of the sending process, in nanoseconds
 * @param receiver processor time of the receiving process, in nanoseconds
 * @param machine processor time of the whole machine during the transfer, in nanoseconds
 * @param crossed bytes transmitted by the network device of the sender's address
 */
record Sample(long bytes, long nanos, long sender, long receiver, long machine, long crossed) {
    private static final double MEBIBYTE = 1 << 20;
    private static final double GIBIBYTE = 1 << 30;

    /** Throughput in MiB per second. */
    double rate() {
        return bytes / MEBIBYTE / (nanos / 1e9);
    }

    /** Converts a processor time to seconds per GiB. */
    private double each(long time) {
        return time / 1e9 / (bytes / GIBIBYTE);
    }

    double senderEach() {
        return each(sender);
    }

    double receiverEach() {
        return each(receiver);
    }

    double bothEach() {
        return each(sender + receiver);
    }

    double machineEach() {
        return each(machine);
    }

    static double median(List<Sample> samples, ToDoubleFunction<Sample> value) {
        double[] sorted = samples.stream().mapToDouble(value).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1
                ? sorted[middle]
                : Arrays.stream(sorted, middle - 1, middle + 1).average().orElseThrow();
    }
}
