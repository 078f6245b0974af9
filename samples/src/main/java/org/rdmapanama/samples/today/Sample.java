package org.rdmapanama.samples.today;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.rdmapanama.samples.CpuTime;

/**
 * The cost of one transfer.
 *
 * @param bytes number of bytes moved
 * @param nanos duration, in nanoseconds
 * @param sender processor time of the sending process, in nanoseconds
 * @param receiver processor time of the receiving process, in nanoseconds
 * @param machine processor time of the whole machine during the transfer, in nanoseconds
 * @param crossed bytes transmitted by the network device of the sender's address
 * @param ofSender what the kernel counted for the sending process
 * @param ofReceiver what the kernel counted for the receiving process
 */
record Sample(
        long bytes,
        long nanos,
        long sender,
        long receiver,
        long machine,
        long crossed,
        Counts ofSender,
        Counts ofReceiver) {
    private static final double MEBIBYTE = 1 << 20;
    private static final double GIBIBYTE = 1 << 30;

    /** The busy time of the machine is the difference of two times, each of which may be off by a tick. */
    private static final long LEAST_MACHINE_NANOS = 2 * CpuTime.TICK_NANOS;

    /** Throughput in MiB per second. */
    double rate() {
        return bytes / MEBIBYTE / (nanos / 1e9);
    }

    /** The median of a processor time in seconds per GiB, or {@link Double#NaN} where the interval was too short. */
    private static double each(List<Sample> samples, ToLongFunction<Sample> time, long least) {
        double median = median(samples, time::applyAsLong);
        return median >= least ? median / 1e9 / (samples.getFirst().bytes / GIBIBYTE) : Double.NaN;
    }

    static double senderEach(List<Sample> samples) {
        // The time of threads that have ended is missing: it may even be negative.
        return each(samples, Sample::sender, 0);
    }

    static double receiverEach(List<Sample> samples) {
        return each(samples, Sample::receiver, 0);
    }

    static double bothEach(List<Sample> samples) {
        boolean known = !Double.isNaN(senderEach(samples)) && !Double.isNaN(receiverEach(samples));
        return known ? each(samples, sample -> sample.sender + sample.receiver, 0) : Double.NaN;
    }

    static double machineEach(List<Sample> samples) {
        return each(samples, Sample::machine, LEAST_MACHINE_NANOS);
    }

    /** Returns the median, or {@link Double#NaN} if a value is missing or there is none. */
    static double median(List<Sample> samples, ToDoubleFunction<Sample> value) {
        double[] sorted = samples.stream().mapToDouble(value).sorted().toArray();
        // NaN is sorted to the end.
        if (sorted.length == 0 || Double.isNaN(sorted[sorted.length - 1])) {
            return Double.NaN;
        }
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1
                ? sorted[middle]
                : Arrays.stream(sorted, middle - 1, middle + 1).average().orElseThrow();
    }
}
