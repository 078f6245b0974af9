package org.rdmapanama.samples.collective;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.memory.AccessFlag;

/**
 * The connection to another rank, and the slots that messages from there go into. The peer sends only into slots that are
 * free: it counts the messages that it has sent, and each header tells how many have been consumed.
 *
 * <p>A peer can send nothing but messages: it has no key of this side's memory. Those that it should not send are found here,
 * and {@link Group} ends the group.
 *
 * <p>Threads: one at a time.
 */
final class Peer {
    /** How many messages of data may be on their way, or wait. */
    static final int SLOTS = 16;

    /** The most bytes of elements in a message. */
    static final int CHUNK = 32 * 1024;

    /**
     * Besides data there are at most two credits, because the next one needs data that the first one permits, two syncs, and
     * one message of each other purpose.
     */
    private static final int RECEIVES = SLOTS + 8;

    private static final int SENDS = 32;

    /** Sends that data leave to other messages. */
    private static final int RESERVED = 8;

    /** Up to this size, elements are copied next to the header, and the vector may change at once. */
    private static final int SMALL = 1024;

    private static final long RECEIVE_SLOT = RankMessage.HEADER + CHUNK;
    private static final long SEND_SLOT = RankMessage.HEADER + SMALL;
    private static final long FIRST_SEND = 1L << 32;

    private final int rank;
    private final RdmaConnection connection;
    private final Group group;
    private final MemoryRegion slots;
    private final MemoryRegion headers;
    private final MemorySegment memory;
    private final MemorySegment out;
    private final SendWorkRequest request;
    private final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[RECEIVES];
    private final WorkCompletions completions;

    /** The slots with data that wait, in order. */
    private final int[] waiting = new int[SLOTS];

    private int firstWaiting;
    private int countWaiting;

    private long consumed;
    private long consumedTold;
    private long posted;
    private long completed;
    private long dataSent;
    private long dataConsumed;

    /** The last send that uses memory of a vector. */
    private long lastOfVector;

    private long syncSequence;
    private int syncKind;
    private int syncRoot;
    private long syncCount;

    private boolean left;
    private long leftSequence;
    private boolean mustAnswer;
    private boolean asked;
    private long lastHeard = System.nanoTime();
    private String failure;
    private boolean gone;

    /** For {@code RdmaConnectionOptions.prepare}: posts the receives. */
    Peer(int rank, RdmaConnection connection, Group group) {
        this.rank = rank;
        this.connection = connection;
        this.group = group;
        slots = connection.register(Math.toIntExact(RECEIVES * RECEIVE_SLOT), AccessFlag.LOCAL_WRITE);
        headers = connection.register(Math.toIntExact(SENDS * SEND_SLOT), AccessFlag.LOCAL_WRITE);
        memory = slots.memory();
        out = headers.memory();
        request = SendWorkRequest.allocate(connection.queuePair(), 2);
        completions = new WorkCompletions(connection.sendQueue(), SLOTS);
        for (int i = 0; i < RECEIVES; i++) {
            receives[i] = ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                    .id(i)
                    .add(slots, i * RECEIVE_SLOT, RECEIVE_SLOT);
            connection.queuePair().postReceive(receives[i]);
        }
    }

    static int receives() {
        return RECEIVES;
    }

    static int sends() {
        return SENDS;
    }

    int rank() {
        return rank;
    }

    RdmaConnection connection() {
        return connection;
    }

    /** Takes what has completed; returns whether there was anything. */
    boolean poll() {
        int count = connection.sendQueue().poll(completions);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                if (failure == null) {
                    failure = completions.describe(i);
                }
            } else if (completions.id(i) >= FIRST_SEND) {
                completed = completions.id(i) - FIRST_SEND;
            } else {
                arrived((int) completions.id(i), completions.byteLength(i));
            }
        }
        tellDue();
        return count > 0;
    }

    private void arrived(int slot, int bytes) {
        long at = slot * RECEIVE_SLOT;
        lastHeard = System.nanoTime();
        RankMessage.Purpose purpose = bytes < RankMessage.HEADER
                ? null
                : RankMessage.Purpose.of(memory.get(RankMessage.INT, at + RankMessage.PURPOSE));
        if (purpose == null || memory.get(RankMessage.INT, at + RankMessage.LENGTH) != bytes - RankMessage.HEADER) {
            group.hostile(this, "a message without a proper header");
            return;
        }
        long hasConsumed = memory.get(RankMessage.LONG, at + RankMessage.CONSUMED);
        if (hasConsumed < dataConsumed || hasConsumed > dataSent) {
            group.hostile(this, hasConsumed + " messages consumed of " + dataSent);
            return;
        }
        dataConsumed = hasConsumed;
        long sequence = memory.get(RankMessage.LONG, at + RankMessage.SEQUENCE);
        switch (purpose) {
            case DATA -> {
                if (countWaiting == SLOTS) {
                    group.hostile(this, "more messages than there are slots");
                    return;
                }
                waiting[(firstWaiting + countWaiting++) % SLOTS] = slot;
                group.check(
                        this,
                        sequence,
                        memory.get(RankMessage.INT, at + RankMessage.KIND),
                        memory.get(RankMessage.INT, at + RankMessage.ROOT),
                        memory.get(RankMessage.LONG, at + RankMessage.COUNT));
                return;
            }
            case SYNC -> {
                syncSequence = sequence;
                syncKind = memory.get(RankMessage.INT, at + RankMessage.KIND);
                syncRoot = memory.get(RankMessage.INT, at + RankMessage.ROOT);
                syncCount = memory.get(RankMessage.LONG, at + RankMessage.COUNT);
                group.check(this, sequence, syncKind, syncRoot, syncCount);
            }
            case CREDIT -> {}
            case ASK -> mustAnswer = true;
            case ALIVE -> asked = false;
            case LEAVE -> leftAfter(sequence);
            case ABORT ->
                group.aborted(
                        this,
                        sequence,
                        memory.get(RankMessage.LONG, at + RankMessage.NUMBER),
                        Reason.of(memory.get(RankMessage.INT, at + RankMessage.REASON)));
        }
        connection.queuePair().postReceive(receives[slot]);
    }

    /** Checks what has arrived before the call that it is for. */
    void checkEarly() {
        for (int i = 0; i < countWaiting; i++) {
            long at = waiting[(firstWaiting + i) % SLOTS] * RECEIVE_SLOT;
            group.check(
                    this,
                    memory.get(RankMessage.LONG, at + RankMessage.SEQUENCE),
                    memory.get(RankMessage.INT, at + RankMessage.KIND),
                    memory.get(RankMessage.INT, at + RankMessage.ROOT),
                    memory.get(RankMessage.LONG, at + RankMessage.COUNT));
        }
        if (syncSequence >= group.call().sequence) {
            group.check(this, syncSequence, syncKind, syncRoot, syncCount);
        }
    }

    /** Sends what could not be sent before for lack of space in the queue. */
    private void tellDue() {
        if (posted - completed >= SENDS - 1 || !isThere()) {
            return;
        }
        if (mustAnswer && group.isInCall()) {
            mustAnswer = false;
            post(RankMessage.Purpose.ALIVE, 0, 0);
        } else if (consumed - consumedTold >= SLOTS / 2) {
            post(RankMessage.Purpose.CREDIT, 0, 0);
        }
    }

    /** Whether a message is worth to be sent. */
    private boolean isThere() {
        return !left && !gone && failure == null;
    }

    private long header(RankMessage.Purpose purpose, long number, int reason, int length) {
        long at = posted % SENDS * SEND_SLOT;
        Call call = group.call();
        out.set(RankMessage.INT, at + RankMessage.PURPOSE, purpose.ordinal());
        out.set(RankMessage.INT, at + RankMessage.KIND, call.kind);
        out.set(RankMessage.INT, at + RankMessage.ROOT, call.root);
        out.set(RankMessage.INT, at + RankMessage.LENGTH, length);
        out.set(RankMessage.LONG, at + RankMessage.SEQUENCE, call.sequence);
        out.set(RankMessage.LONG, at + RankMessage.COUNT, call.count);
        out.set(RankMessage.LONG, at + RankMessage.CONSUMED, consumed);
        out.set(RankMessage.LONG, at + RankMessage.NUMBER, number);
        out.set(RankMessage.INT, at + RankMessage.REASON, reason);
        consumedTold = consumed;
        posted++;
        request.clear().id(FIRST_SEND + posted).send().signaled(true);
        return at;
    }

    private void post(RankMessage.Purpose purpose, long number, int reason) {
        long at = header(purpose, number, reason, 0);
        connection.queuePair().postSend(request.add(headers, at, RankMessage.HEADER));
    }

    /**
     * Sends a message without elements. The last entry of the queue is for the one that ends the group.
     *
     * @return whether it was sent; not if the peer is gone, or the queue is full
     */
    boolean tell(RankMessage.Purpose purpose, long number, int reason) {
        int most = purpose == RankMessage.Purpose.ABORT ? SENDS : SENDS - 1;
        if (posted - completed >= most || !isThere()) {
            return false;
        }
        post(purpose, number, reason);
        return true;
    }

    boolean canSend() {
        return dataSent - dataConsumed < SLOTS && posted - completed < SENDS - RESERVED;
    }

    /** Sends elements; {@link #canSend} must be true. */
    void send(long number, Vector vector, long firstElement, int elements) {
        int bytes = elements * vector.type().bytes();
        long from = firstElement * vector.type().bytes();
        long at = header(RankMessage.Purpose.DATA, number, 0, bytes);
        dataSent++;
        if (bytes <= SMALL) {
            MemorySegment.copy(vector.memory(), from, out, at + RankMessage.HEADER, bytes);
            request.add(headers, at, RankMessage.HEADER + bytes);
        } else {
            request.add(headers, at, RankMessage.HEADER).add(vector.region(rank), from, bytes);
            lastOfVector = posted;
        }
        connection.queuePair().postSend(request);
    }

    /** Whether all that was sent from vectors has arrived, so that they may change. */
    boolean hasArrived() {
        return completed >= lastOfVector || hasFinished();
    }

    boolean hasSentAll() {
        return completed >= posted || gone || failure != null;
    }

    /** Whether the peer has told that the call of this side is over for it. */
    boolean hasFinished() {
        return left && leftSequence >= group.call().sequence;
    }

    /** Notes that nothing follows from the peer after a call. */
    void leftAfter(long sequence) {
        left = true;
        leftSequence = sequence;
    }

    boolean hasLeft() {
        return left;
    }

    boolean hasData() {
        return countWaiting > 0;
    }

    /** Whether the peer has told that it has begun the call of this side. */
    boolean hasSynced() {
        return syncSequence >= group.call().sequence;
    }

    /**
     * Checks the message that has waited longest; there must be one.
     *
     * @return where its elements are in {@link #memory}
     */
    long data(long number, int bytes) {
        long at = waiting[firstWaiting] * RECEIVE_SLOT;
        if (memory.get(RankMessage.LONG, at + RankMessage.SEQUENCE) != group.call().sequence
                || memory.get(RankMessage.LONG, at + RankMessage.NUMBER) != number
                || memory.get(RankMessage.INT, at + RankMessage.LENGTH) != bytes) {
            group.hostile(
                    this,
                    "message " + memory.get(RankMessage.LONG, at + RankMessage.NUMBER) + " of "
                            + memory.get(RankMessage.INT, at + RankMessage.LENGTH) + " bytes in place of message "
                            + number
                            + " of " + bytes);
        }
        return at + RankMessage.HEADER;
    }

    MemorySegment memory() {
        return memory;
    }

    /** Drops the message that has waited longest. */
    void release() {
        int slot = waiting[firstWaiting];
        firstWaiting = (firstWaiting + 1) % SLOTS;
        countWaiting--;
        consumed++;
        connection.queuePair().postReceive(receives[slot]);
        tellDue();
    }

    /** Asks the peer whether it works, unless it has not answered the last time. */
    void ask() {
        if (!asked) {
            asked = tell(RankMessage.Purpose.ASK, 0, 0);
        }
    }

    /** Returns when the peer was heard last, in {@link System#nanoTime}. */
    long lastHeard() {
        return lastHeard;
    }

    /** Looks whether the peer is still connected. All that it has sent before is taken first. */
    boolean isGone() {
        if (!gone && (failure != null || !connection.isConnected())) {
            while (poll()) {
                // What has arrived tells more than that nothing follows.
            }
            gone = true;
        }
        return gone;
    }

    /** Says more about a peer that is gone. */
    String detail() {
        return failure == null ? "" : " (" + failure + ")";
    }
}
