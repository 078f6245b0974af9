package org.rdmapanama.samples.perf;

import java.io.IOException;
import org.rdmapanama.samples.figures.LatencyRecord;

/** Measures one message at a time, from one post to the next, like the latency programs of perftest. */
abstract class LatencyLoop {
    private static final double NANOS = 1e9;

    final TestSide side;
    final Watch watch;
    private final TestSettings settings;

    LatencyLoop(TestSide side, TestSettings settings, Watch watch) {
        this.side = side;
        this.settings = settings;
        this.watch = watch;
    }

    static LatencyLoop of(TestSide side, TestSettings settings, Watch watch, long size) {
        return switch (settings.kind().operation) {
            case SEND -> new SendLatency(side, settings, watch, size);
            case WRITE -> new WriteLatency(side, settings, watch, size);
            case READ, ATOMIC -> new RoundTripLatency(side, settings, watch, size);
        };
    }

    /** Sends, and waits for the answer. */
    abstract void ping(long turn) throws IOException, InterruptedException;

    /** Waits for a message, and answers it. Returns false if the peer has finished instead. */
    abstract boolean pong(long turn) throws IOException, InterruptedException;

    /** Completes any deferred work. */
    void end() {}

    /** Runs the client's side, and returns the number of messages and the time they took. */
    Outcome measure(LatencyRecord latencies) throws IOException, InterruptedException {
        long turns = turns();
        long limit = settings.seconds() > 0 ? settings.seconds() * 1_000_000_000L : Long.MAX_VALUE;
        double interval = settings.rate() > 0 ? NANOS / settings.rate() : 0;
        int ways = settings.kind().isPingPong() ? 2 : 1;

        watch.begin();
        long begin = System.nanoTime();
        long start = begin;
        long turn = 0;
        while (turn < turns) {
            long delay = 0;
            if (interval > 0) {
                long due = start + (long) (Math.max(0, turn - TestRun.UNMEASURED) * interval);
                begin = turn < TestRun.UNMEASURED ? System.nanoTime() : until(due);
                delay = turn < TestRun.UNMEASURED ? 0 : begin - due;
            }
            ping(turn);
            long end = System.nanoTime();
            turn++;
            if (turn > TestRun.UNMEASURED) {
                // The delay before the post counts in full, the round trip by half.
                latencies.record(end - begin + delay * ways);
                if (end - start > limit) {
                    begin = end;
                    break;
                }
            } else {
                start = end;
            }
            begin = end;
        }
        end();
        return new Outcome(turn, turn - TestRun.UNMEASURED, begin - start, 0);
    }

    private long until(long due) throws IOException, InterruptedException {
        while (true) {
            long now = System.nanoTime();
            if (now >= due) {
                return now;
            }
            watch.moved(); // waiting for the next due time is not silence of the peer
        }
    }

    /** Runs the server's side. */
    final void reflect() throws IOException, InterruptedException {
        long turns = turns();
        watch.begin();
        for (long turn = 0; turn < turns && pong(turn); turn++) {
            // pong does all the work
        }
        end();
    }

    private long turns() {
        return isTimed() ? Long.MAX_VALUE : TestRun.UNMEASURED + settings.iterations();
    }

    /** Whether the test runs for a time, so that the peer must say when it is over. */
    final boolean isTimed() {
        return settings.seconds() > 0;
    }
}
