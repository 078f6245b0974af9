package org.rdmapanama.samples.log;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;

/**
 * A connection between primary and replica, and the memory that goes with it: a message to send, a message to receive, and
 * words for the rest. Each side sends one message at most.
 *
 * <p>Threads: one at a time.
 */
final class Wire {
    /** How many transfers may be under way. */
    static final int DEPTH = 16;

    /** The bytes of a message. */
    static final int MESSAGE = 64;

    private static final int SEND_AT = 0;
    private static final int RECEIVE_AT = MESSAGE;
    private static final int WORD_AT = 2 * MESSAGE;
    private static final int SLOTS_AT = 3 * MESSAGE;

    /** In each slot: a commit index to write, and a place for what was read. */
    private static final int SLOT = 16;

    private static final long RECEIVED = -1;
    private static final long SENT = -2;
    private static final long SPIN_NANOS = 100_000;
    private static final long PAUSE_NANOS = 50_000;

    private final RdmaConnection connection;
    private final MemoryRegion scratch;
    private final SendWorkRequest request;
    private final WorkCompletions completions;
    private boolean received;
    private long completed;

    /** For {@code RdmaConnectionOptions.prepare}: posts the receive. */
    Wire(RdmaConnection connection) {
        this.connection = connection;
        scratch = connection.register(SLOTS_AT + DEPTH * SLOT, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        request = SendWorkRequest.allocate(connection.queuePair(), 1);
        completions = new WorkCompletions(connection.sendQueue(), DEPTH);
        connection
                .queuePair()
                .postReceive(ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                        .id(RECEIVED)
                        .add(scratch, RECEIVE_AT, MESSAGE));
    }

    RdmaConnection connection() {
        return connection;
    }

    /** Where the peer may write a word. */
    long wordAddress() {
        return scratch.address() + WORD_AT;
    }

    int wordKey() {
        return scratch.rkey();
    }

    long word() {
        return (long) LogFile.LONG.varHandle().getAcquire(scratch.memory(), (long) WORD_AT);
    }

    void send(byte[] message) {
        MemorySegment.copy(
                message, 0, scratch.memory(), java.lang.foreign.ValueLayout.JAVA_BYTE, SEND_AT, message.length);
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(SENT)
                        .send()
                        .add(scratch, SEND_AT, message.length)
                        .signaled(true));
    }

    /** Waits for the message of the peer. */
    byte[] receive(Duration timeout) throws InterruptedException {
        long start = System.nanoTime();
        while (!received) {
            poll();
            pause(start, timeout);
        }
        return scratch.memory().asSlice(RECEIVE_AT, MESSAGE).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
    }

    /** Returns whether the message of the peer is there. */
    boolean hasReceived() {
        if (!received) {
            poll();
        }
        return received;
    }

    /** Reads from the memory of the peer, and waits for it. */
    void read(long remote, int key, MemoryRegion region, long offset, int length, Duration timeout)
            throws InterruptedException {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(0)
                        .rdmaRead(remote, key)
                        .add(region, offset, length)
                        .signaled(true));
        long start = System.nanoTime();
        while (poll() < 0) {
            pause(start, timeout);
        }
    }

    /** Reads a few bytes from the memory of the peer. */
    byte[] read(long remote, int key, int length, Duration timeout) throws InterruptedException {
        read(remote, key, scratch, SLOTS_AT, length, timeout);
        return scratch.memory().asSlice(SLOTS_AT, length).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
    }

    /** Posts a write of a part of a file. */
    void postWrite(long remote, int key, MemoryRegion region, long offset, long length, long id, boolean signaled) {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(id)
                        .rdmaWrite(remote, key)
                        .add(region, offset, length)
                        .signaled(signaled));
    }

    /** Posts a write of a word. */
    void postWord(long remote, int key, long value, int slot, long id, boolean signaled) {
        long at = SLOTS_AT + (long) slot * SLOT;
        scratch.memory().set(LogFile.LONG, at, value);
        postWrite(remote, key, scratch, at, Long.BYTES, id, signaled);
    }

    /** Posts a read of a word into a slot, which completes once all writes before it are in the memory of the peer. */
    void postReadBack(long remote, int key, int slot, long id) {
        connection
                .queuePair()
                .postSend(request.clear()
                        .id(id)
                        .rdmaRead(remote, key)
                        .add(scratch, SLOTS_AT + (long) slot * SLOT + Long.BYTES, Long.BYTES)
                        .signaled(true));
    }

    long readBack(int slot) {
        return scratch.memory().get(LogFile.LONG, SLOTS_AT + (long) slot * SLOT + Long.BYTES);
    }

    /**
     * Looks for completions of transfers, and remembers the others.
     *
     * @return the id of the last one, which is not negative; negative if there was none
     * @throws org.rdmapanama.FailedCompletionException when one failed
     */
    long poll() {
        int count = connection.sendQueue().poll(completions);
        long last = -1;
        for (int i = 0; i < count; i++) {
            completions.check(i);
            long id = completions.id(i);
            if (id == RECEIVED) {
                received = true;
            } else if (id >= 0) {
                last = id;
                completed = id;
            }
        }
        return last;
    }

    /** Returns the id of the last transfer that is known to have completed; 0 if there was none. */
    long completed() {
        return completed;
    }

    private void pause(long start, Duration timeout) throws InterruptedException {
        long waited = System.nanoTime() - start;
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (waited > timeout.toNanos()) {
            throw new LogException("no answer from " + connection.remoteAddress() + " in " + timeout.toMillis()
                    + " ms: see whether it runs, and what it prints");
        }
        if (waited < SPIN_NANOS) {
            Thread.onSpinWait();
        } else {
            if (!connection.isConnected()) {
                throw new LogException(connection + " has ended");
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
