package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.time.Duration;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.samples.Failure;

/**
 * Looks up from a measuring loop now and then: ends it on Ctrl-C, when the peer is gone, and when nothing happens for
 * too long. Makes no garbage where nobody sleeps.
 */
final class Watch {
    /** Looking at the clock costs as much as polling; so it is done once in so many turns. */
    private static final int TURNS_PER_LOOK = 256;

    /** Looking after the peer is a system call. */
    private static final long PEER_NANOS = 50_000_000L;

    private static final Duration SLEEP = Duration.ofMillis(50);

    private final PerfLink link;
    private final long limitNanos;
    private int turns;
    private boolean moved;
    private long lastMove;
    private long lastPeer;

    Watch(PerfLink link, Duration timeout) {
        this.link = link;
        limitNanos = timeout.toNanos();
    }

    /** Begins to wait now. */
    void begin() {
        lastMove = System.nanoTime();
        lastPeer = lastMove;
        turns = 0;
    }

    /** Something happened. */
    void moved() throws IOException, InterruptedException {
        moved = true;
        turn();
    }

    /**
     * Nothing happened. Without {@link Thread#onSpinWait}: perftest does not pause either, and in an emulated machine
     * the instruction for it hands the processor over, which takes milliseconds when the host is busy.
     */
    void idle() throws IOException, InterruptedException {
        turn();
    }

    private void turn() throws IOException, InterruptedException {
        if (++turns >= TURNS_PER_LOOK) {
            turns = 0;
            look();
        }
    }

    /** Sleeps until a queue that was asked tells something, but no longer than until it is time to look after the peer. */
    void sleep(CompletionChannel channel) throws IOException, InterruptedException {
        channel.await(SLEEP);
        look();
    }

    private void look() throws IOException, InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long now = System.nanoTime();
        if (moved) {
            moved = false;
            lastMove = now;
        }
        if (now - lastPeer > PEER_NANOS) {
            lastPeer = now;
            link.look(now);
        }
        if (now - lastMove > limitNanos) {
            throw new Failure("nothing came for " + limitNanos / 1_000_000_000L
                    + " s: the peer is stopped, or a message got lost, which UC and UD do not repair; try again, with a"
                    + " longer --timeout if the way is slow");
        }
    }

    /** Whether the peer has finished: it says nothing else during a measurement. */
    boolean isPeerDone() {
        return link.hasMessage();
    }
}
