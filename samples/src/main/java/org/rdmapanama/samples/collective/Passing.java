package org.rdmapanama.samples.collective;

import java.lang.foreign.MemorySegment;

/**
 * Passes segments of a vector around the ring: takes them from the rank to the left, and sends them on to the one to the
 * right, message by message, so that adding and sending overlap.
 *
 * <p>What a rank sends is a segment of its own, if it has one, and then what it has taken, in the same order. So a message that
 * it sends is the one that it has taken {@code lead} messages before, where {@code lead} is how many its own segment has.
 */
final class Passing {
    private final Group group;
    private final Vector vector;
    private final RingSegments segments;
    private final int parts;

    private int sendSegment;
    private int sendsLeft;
    private long lead;
    private long sendMessage;
    private long sent;

    private int takeSegment;
    private int takesLeft;
    private int reduced;
    private Reduction reduction;
    private long takeMessage;
    private long taken;

    Passing(Group group, Vector vector, RingSegments segments) {
        this.group = group;
        this.vector = vector;
        this.segments = segments;
        parts = segments.parts();
    }

    /**
     * Says what to send.
     *
     * @param first the first segment; the others follow downwards
     * @param count how many
     * @param ownMessages how many messages may be sent before any is taken
     */
    Passing sends(int first, int count, long ownMessages) {
        sendSegment = first;
        sendsLeft = count;
        lead = ownMessages;
        return this;
    }

    /**
     * Says what to take.
     *
     * @param first the first segment; the others follow downwards
     * @param count how many
     * @param toReduce how many of them are combined with what is there, before the others replace it
     * @param how how to combine
     */
    Passing takes(int first, int count, int toReduce, Reduction how) {
        takeSegment = first;
        takesLeft = count;
        reduced = toReduce;
        reduction = how;
        return this;
    }

    void run() throws InterruptedException {
        Peer left = group.left();
        Peer right = group.right();
        while (sendsLeft > 0 || takesLeft > 0) {
            boolean mustSend = sendsLeft > 0 && sent - lead < taken;
            boolean idle = true;
            if (mustSend && right.canSend()) {
                send(right);
                idle = false;
            }
            if (takesLeft > 0 && left.hasData()) {
                take(left);
                idle = false;
            }
            if (idle) {
                group.progress(takesLeft > 0 ? left : right, mustSend ? right : null);
            }
        }
    }

    private void send(Peer right) {
        right.send(
                sent++,
                vector,
                segments.messageStart(sendSegment, sendMessage),
                segments.messageLength(sendSegment, sendMessage));
        if (++sendMessage == segments.messages(sendSegment)) {
            sendMessage = 0;
            sendSegment = (sendSegment + parts - 1) % parts;
            sendsLeft--;
        }
    }

    private void take(Peer left) {
        int count = segments.messageLength(takeSegment, takeMessage);
        long to =
                segments.messageStart(takeSegment, takeMessage) * vector.type().bytes();
        long bytes = (long) count * vector.type().bytes();
        long from = left.data(taken++, (int) bytes);
        group.checkFailure();
        if (reduced > 0) {
            vector.type().reduce(reduction, vector.memory(), to, left.memory(), from, count);
        } else {
            MemorySegment.copy(left.memory(), from, vector.memory(), to, bytes);
        }
        left.release();
        if (++takeMessage == segments.messages(takeSegment)) {
            takeMessage = 0;
            takeSegment = (takeSegment + parts - 1) % parts;
            takesLeft--;
            reduced--;
        }
    }
}
