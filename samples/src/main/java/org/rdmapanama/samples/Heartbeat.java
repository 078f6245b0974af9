package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;

/**
 * Heartbeats: each side increments a counter in its memory, and the other side reads it by RDMA READ. A queue pair that
 * only receives never learns that its peer hangs or that the network is down; a counter that advances shows that all is
 * well.
 *
 * <p>Threads: one at a time.
 */
final class Heartbeat {
    private static final long BEAT_NANOS = 500_000_000L;
    private static final long LOOK_NANOS = 50_000_000L;
    private static final VarHandle COUNT = ValueLayout.JAVA_LONG.varHandle();

    // Offsets of the two counters.
    private static final long OURS = 0;
    private static final long THEIRS = Long.BYTES;

    private final TransferConnection connection;
    private final long limitNanos;
    private final MemoryRegion counts;
    private final SendWorkRequest request;
    private final long id;
    private RemoteMemory peer;
    private boolean reading;
    private long readAt;
    private long heard;
    private long heardAt;
    private long lookedAt;
    private boolean alive = true;

    /**
     * Creates the heartbeat of a connection.
     *
     * @param request a work request to post READs with, which others of the same thread may use in between
     * @param id the identifier that the READs get
     * @param timeout for how long the peer's counter may stand still
     */
    Heartbeat(TransferConnection connection, SendWorkRequest request, long id, Duration timeout) {
        this.connection = connection;
        limitNanos = timeout.toNanos();
        counts = connection.register(
                Arena.ofAuto().allocate(2 * Long.BYTES, TransferConnection.PAGE), AccessFlag.REMOTE_READ);
        this.request = request;
        this.id = id;
        lookedAt = System.nanoTime();
    }

    /** Returns the message that tells the peer where to read. */
    ControlMessage greeting() {
        return ControlMessage.greeting(counts.remote().slice(OURS, Long.BYTES));
    }

    /** Starts to monitor the peer. */
    void follow(ControlMessage greeting) {
        if (greeting.memory().length() < Long.BYTES) {
            throw new Failure(
                    "the peer's heartbeat has " + greeting.memory().length() + " bytes instead of " + Long.BYTES);
        }
        peer = greeting.memory();
        heardAt = System.nanoTime();
        readAt = heardAt;
    }

    /**
     * Returns false once the peer has disconnected. Call this often, even while busy; most calls only read the clock.
     */
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
        if (alive && peer != null && !reading && now - readAt >= BEAT_NANOS) {
            read();
        }
        return alive;
    }

    /** Posts a READ of the peer's counter, after everything that was posted before. */
    void read() {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(id)
                        .rdmaRead(peer)
                        .add(counts, THEIRS, Long.BYTES)
                        .signaled(true));
        reading = true;
        readAt = System.nanoTime();
    }

    boolean isReading() {
        return reading;
    }

    /** Evaluates the counter that was read. */
    void completed() {
        reading = false;
        long count = (long) COUNT.getVolatile(counts.memory(), THEIRS);
        if (count != heard) {
            heard = count;
            heardAt = System.nanoTime();
        } else if (readAt - heardAt > limitNanos) {
            // Counts from the time of posting, because a busy side processes the completion late.
            throw new Failure("heard nothing from the peer for " + limitNanos / 1_000_000_000L
                    + " s, though its device answers: its program does not run, or is so slow that it needs a longer"
                    + " --timeout");
        }
    }
}
