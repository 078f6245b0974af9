package org.rdmapanama.samples.perf;

import java.io.IOException;
import java.time.Duration;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.SingleProcessor;

/**
 * Supervises a measuring loop: ends it on Ctrl-C, if the peer is gone, and if nothing happens for too long. Allocates
 * nothing unless the loop sleeps.
 */
final class Watch {
    /** Number of turns between two looks at the clock, which cost as much as a poll. */
    private static final int TURNS_PER_LOOK = 256;

    /** Time between two checks on the peer, each of which is a system call. */
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

    /** Starts to wait now. */
    void begin() {
        lastMove = System.nanoTime();
        lastPeer = lastMove;
        turns = 0;
    }

    /** Notes that something happened. */
    void moved() throws IOException, InterruptedException {
        moved = true;
        turn();
    }

    /**
     * Notes that nothing happened. Does not call {@link Thread#onSpinWait}: perftest does not pause either, and in an
     * emulated machine that instruction yields the processor, which takes milliseconds if the host is busy.
     */
    void idle() throws IOException, InterruptedException {
        SingleProcessor.giveWay();
        turn();
    }

    private void turn() throws IOException, InterruptedException {
        if (++turns >= TURNS_PER_LOOK) {
            turns = 0;
            look();
        }
    }

    /** Sleeps until a queue with requested notification causes an event, or until the next check on the peer is due. */
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
            throw new Failure("nothing arrived for " + limitNanos / 1_000_000_000L
                    + " s: the peer does not respond, or a message was lost, which UC and UD do not recover; try again,"
                    + " with a longer --timeout if the network is slow");
        }
    }

    /** Whether the peer has finished: that is the only message it sends during a measurement. */
    boolean isPeerDone() {
        return link.hasMessage();
    }
}
