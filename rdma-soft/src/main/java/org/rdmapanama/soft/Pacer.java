package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Congestion;

/**
 * Has the packets of a queue pair wait that would exceed its {@link DcqcnRate}. {@link WireRequester} owns it, and {@link
 * ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class Pacer extends LazyTimer {
    private static final double NANOS_PER_SECOND = 1e9;

    /** How late packets may be and still be sent at once: clocks of threads that sleep count milliseconds. */
    private static final long LATENESS_NANOS = 1_000_000;

    private final WireRequester requester;
    private final DcqcnRate rate;

    /** When the next packet may be sent, by System.nanoTime(). */
    private long next = System.nanoTime();

    Pacer(WireRequester requester, ProgressEngine engine, Congestion settings) {
        super(engine);
        this.requester = requester;
        rate = new DcqcnRate(settings, System.nanoTime());
    }

    /** Returns whether the next packet must wait. Then the requester runs when it may be sent. */
    boolean mustWait() {
        if (!rate.isLimiting()) {
            return false;
        }
        long now = System.nanoTime();
        rate.advance(now);
        if (!rate.isLimiting() || next - now <= 0) {
            return false;
        }
        if (!isWaiting()) {
            waitUntil(next);
        }
        return true;
    }

    /** Notes bytes that are sent. Returns whether the next packet will have to wait. */
    boolean sent(int bytes) {
        if (!rate.isLimiting()) {
            return false;
        }
        long now = System.nanoTime();
        long from = next - now > -LATENESS_NANOS ? next : now - LATENESS_NANOS;
        next = from + (long) (bytes * NANOS_PER_SECOND / rate.rate());
        rate.sent(bytes);
        return next - now > 0;
    }

    /** Slows down, because the peer has seen a mark. */
    void notified() {
        long now = System.nanoTime();
        if (!rate.isLimiting()) {
            next = now;
        }
        rate.cut(now);
    }

    @Override
    void due() {
        requester.run();
    }

    @Override
    public void failed(Throwable cause) {
        requester.failed(cause);
    }
}
