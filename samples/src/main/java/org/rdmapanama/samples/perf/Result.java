package org.rdmapanama.samples.perf;

import org.rdmapanama.samples.figures.LatencyRecord;

/**
 * The result for one message size.
 *
 * @param bytes message size, in bytes
 * @param iterations number of iterations measured
 * @param latencies latencies in microseconds, or null if there are none
 * @param peak peak bandwidth, in MiB per second; 0 if not known
 * @param average average bandwidth, in MiB per second
 * @param messageRate message rate, in million messages per second
 * @param lost number of messages that did not arrive, which UC and UD do not recover
 */
record Result(
        long bytes,
        long iterations,
        LatencyRecord latencies,
        double peak,
        double average,
        double messageRate,
        long lost) {
    private static final double MIB = 1 << 20;
    private static final double NANOS = 1e9;
    private static final double MILLION = 1e6;

    /** Returns the result of a latency test. */
    static Result latency(long bytes, LatencyRecord latencies) {
        return new Result(bytes, latencies.count(), latencies, 0, 0, 0, 0);
    }

    /** Returns the result of a bandwidth test; the other outcome is null unless the peer sent as well. */
    static Result bandwidth(long bytes, Outcome own, Outcome other, LatencyRecord latencies, long lost) {
        Result result = new Result(
                bytes,
                own.measured(),
                latencies,
                own.perMessageNanos() == 0 ? 0 : bytes / MIB / (own.perMessageNanos() / NANOS),
                own.measured() * (bytes / MIB) / (own.nanos() / NANOS),
                own.measured() / MILLION / (own.nanos() / NANOS),
                lost);
        return other == null ? result : result.plus(bandwidth(bytes, other, null, null, 0));
    }

    private Result plus(Result other) {
        return new Result(
                bytes,
                iterations,
                latencies,
                peak + other.peak,
                average + other.average,
                messageRate + other.messageRate,
                lost);
    }
}
