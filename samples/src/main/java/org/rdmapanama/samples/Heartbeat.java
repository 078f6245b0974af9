package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;

/**
 * Signs of life: each side counts in its memory, and the other one reads that by RDMA READ. A queue pair that only receives
 * never learns that its peer hangs or that the way there is cut; a count that goes on says that all is well.
 *
 * <p>Threads: one at a time.
 */
final class Heartbeat {
    /** Identifier of its work request. */
    static final long READ = 1L << 34;

    private static final long BEAT_NANOS = 500_000_000L;
    private static final long LOOK_NANOS = 50_000_000L;
    private static final VarHandle COUNT = ValueLayout.JAVA_LONG.varHandle();

    // Offsets of both counts.
    private static final long OURS = 0;
    private static final long THEIRS = Long.BYTES;

    private final TransferConnection connection;
    private final long limitNanos;
    private final MemoryRegion counts;
    private final SendWorkRequest read;
    private boolean known;
    private boolean reading;
    private long readAt;
    private long heard;
    private long heardAt;
    private long lookedAt;
    private boolean alive = true;

    Heartbeat(TransferConnection connection, Duration timeout) {
        this.connection = connection;
        limitNanos = timeout.toNanos();
        counts = connection.register(2 * Long.BYTES, AccessFlag.REMOTE_READ);
        read = SendWorkRequest.allocate(connection.arena(), 1)
                .id(READ)
                .add(counts, THEIRS, Long.BYTES)
                .signaled(true);
        lookedAt = System.nanoTime();
    }

    /** Tells the peer where to read. */
    ControlMessage greeting() {
        return ControlMessage.greeting(counts.address() + OURS, counts.rkey());
    }

    /** From here on it looks after the peer. */
    void follow(ControlMessage greeting) {
        read.rdmaRead(greeting.address(), greeting.rkey());
        known = true;
        heardAt = System.nanoTime();
        readAt = heardAt;
    }

    /** To be called often, also while busy; most calls only look at the clock. False when the peer has hung up. */
    boolean isPeerAlive() throws IOException, InterruptedException {
        long now = System.nanoTime();
        if (now - lookedAt < LOOK_NANOS) {
            return alive;
        }
        lookedAt = now;
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        COUNT.setVolatile(counts.memory(), OURS, (long) COUNT.getVolatile(counts.memory(), OURS) + 1);
        alive = alive && connection.isConnected();
        if (alive && known && !reading && now - readAt >= BEAT_NANOS) {
            read();
        }
        return alive;
    }

    /** Reads the peer's count, behind all that was posted before. */
    void read() {
        if (connection.queuePair().postSend(read) != QueuePair.POSTED) {
            throw new Failure("the send queue of " + connection.queuePair() + " is full");
        }
        reading = true;
        readAt = System.nanoTime();
    }

    boolean isReading() {
        return reading;
    }

    /** Looks at what was read. */
    void completed() {
        reading = false;
        long count = (long) COUNT.getVolatile(counts.memory(), THEIRS);
        if (count != heard) {
            heard = count;
            heardAt = System.nanoTime();
        } else if (readAt - heardAt > limitNanos) {
            // When it was posted, because a side that is busy looks late.
            throw new Failure(
                    "heard nothing from the peer for " + limitNanos / 1_000_000_000L
                            + " s, though its device answers: its program is stopped, or so slow that it takes a longer --timeout");
        }
    }
}
