package org.rdmapanama.samples.log;

/** Pauses between attempts, each twice as long as the one before, up to a limit. Threads: one. */
final class Backoff {
    private final long limitNanos;
    private long nextNanos;

    /** The first pause, and the longest one. */
    Backoff(long firstNanos, long limitNanos) {
        this.limitNanos = limitNanos;
        nextNanos = firstNanos;
    }

    /** Returns how long to wait now. */
    long nextNanos() {
        long now = nextNanos;
        nextNanos = Math.min(limitNanos, 2 * now);
        return now;
    }
}
