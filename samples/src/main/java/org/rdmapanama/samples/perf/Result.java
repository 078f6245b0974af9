package org.rdmapanama.samples.perf;

/**
 * What came out for one size.
 *
 * @param bytes of a message
 * @param iterations how many were measured
 * @param latencies in microseconds, or null where there are none
 * @param peak bandwidth, in MiB per second; 0 where it is not known
 * @param average bandwidth, in MiB per second
 * @param messageRate in million messages per second
 * @param lost messages that did not arrive, which UC and UD do not repair
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

    /** Of a latency test. */
    static Result latency(long bytes, LatencyRecord latencies) {
        return new Result(bytes, latencies.count(), latencies, 0, 0, 0, 0);
    }

    /** Of a bandwidth test, with what the other side sent meanwhile, or null. */
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
