package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Congestion;

/**
 * How fast a queue pair may send, as the reaction point of DCQCN computes it ("Congestion Control for Large-Scale RDMA
 * Deployments", SIGCOMM 2015, section 3.1). A notification halves the rate at most, the less the rarer notifications have
 * become. Without them, the rate first returns to where it was, and then grows beyond. What the paper does by timers is made
 * up for when the rate is asked for. Callers must hold the lock of the device.
 */
final class DcqcnRate {
    /** The weight of a notification in {@link #alpha}. */
    private static final double G = 1 / 256.0;

    /** In so many steps the rate returns to the target. */
    private static final int FAST_STEPS = 5;

    /** After so many bytes, the rate grows as it does after each period. */
    private static final long STEP_BYTES = 10_000_000;

    /** The lowest rate, in bytes per second: below it, timeouts would decide. */
    static final double LEAST = 1_000_000;

    /** The parts of the line's rate by which the target grows: as 40 Mbit/s to 40 Gbit/s, and ten times that. */
    private static final double ADDED = 1 / 1000.0;

    private static final double ADDED_LATER = 10 * ADDED;

    /** So near the line's rate, nothing is limited any more. */
    private static final double ALMOST = 0.999;

    /**
     * How many periods are made up for at once: about a millisecond, which is what timers of sleeping threads count in. A
     * sender that was at rest for longer has learned nothing of the way meanwhile.
     */
    private static final int MOST_PERIODS = 20;

    private final long period;
    private final double line;

    /** The rate, and that to which it returns, in bytes per second. */
    private double rate;

    private double target;

    /** How congested the way is believed to be, from 0 to 1. */
    private double alpha = 1;

    /** Until when periods have passed, by System.nanoTime(). */
    private long counted;

    /** How many steps were made since the last cut: after periods, and after bytes. */
    private int stepsOfTime;

    private int stepsOfBytes;

    /** The bytes that were sent since the last such step. */
    private long bytes;

    private boolean limits;

    DcqcnRate(Congestion settings, long now) {
        period = settings.periodNanos();
        line = Math.max((double) settings.lineBytes(), LEAST);
        rate = line;
        target = line;
        counted = now;
    }

    /** Returns whether the rate is less than that of the line. */
    boolean isLimiting() {
        return limits;
    }

    /** Returns the rate in bytes per second. */
    double rate() {
        return rate;
    }

    double alpha() {
        return alpha;
    }

    /** Cuts the rate, because of a notification at a time. */
    void cut(long now) {
        advance(now);
        target = rate;
        rate = Math.max(rate * (1 - alpha / 2), LEAST);
        alpha = (1 - G) * alpha + G;
        stepsOfTime = 0;
        stepsOfBytes = 0;
        bytes = 0;
        counted = now;
        limits = true;
    }

    /** Notes bytes that are sent. */
    void sent(int more) {
        bytes += more;
        if (limits && bytes >= STEP_BYTES) {
            bytes = 0;
            stepsOfBytes++;
            grow();
        }
    }

    /** Makes up for the periods until a time. */
    void advance(long now) {
        long periods = (now - counted) / period;
        if (periods <= 0) {
            return;
        }
        alpha *= Math.pow(1 - G, (double) periods);
        for (int i = 0; i < Math.min(periods, MOST_PERIODS) && limits; i++) {
            stepsOfTime++;
            grow();
        }
        counted += periods * period;
    }

    private void grow() {
        if (Math.min(stepsOfTime, stepsOfBytes) > FAST_STEPS) {
            target += ADDED_LATER * line;
        } else if (Math.max(stepsOfTime, stepsOfBytes) > FAST_STEPS) {
            target += ADDED * line;
        }
        target = Math.min(target, line);
        rate = (rate + target) / 2;
        if (rate >= ALMOST * line) {
            rate = line;
            limits = false;
        }
    }
}
