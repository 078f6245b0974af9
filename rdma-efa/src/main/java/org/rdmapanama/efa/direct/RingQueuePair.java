package org.rdmapanama.efa.direct;

import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.SendVerbs;

/** A queue pair: its rings, and the completion queues that know it by its number. */
final class RingQueuePair extends DirectQueuePair {
    private final SendQueueRing sends;
    private final ReceiveQueueRing receives;
    private final CompletionQueueRing sendQueue;
    private final CompletionQueueRing receiveQueue;
    private final RingSendVerbs verbs;

    /** Creates a queue pair that {@link #join} makes known. */
    RingQueuePair(
            int number,
            SendQueueRing sends,
            ReceiveQueueRing receives,
            CompletionQueueRing sendQueue,
            CompletionQueueRing receiveQueue) {
        super(number);
        this.sends = sends;
        this.receives = receives;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        verbs = new RingSendVerbs(sends);
    }

    /** Makes this known to the completion queues. */
    void join() {
        sendQueue.add(this);
        receiveQueue.add(this);
    }

    /** Whether a completion queue is that of the sends or of the receives. */
    @SuppressWarnings("ReferenceEquality") // queues are compared by identity
    boolean completesIn(CompletionQueueRing queue, boolean ofSends) {
        return queue == (ofSends ? sendQueue : receiveQueue);
    }

    /** Returns the work requests that are outstanding in one of its queues. */
    RequestIds ids(boolean ofSends) {
        return ofSends ? sends.ids() : receives.ids();
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        return sends.post(workRequest, bad);
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        return receives.post(workRequest, bad);
    }

    @Override
    public SendVerbs sendVerbs() {
        return verbs;
    }

    @Override
    @SuppressWarnings("ReferenceEquality") // queues are compared by identity
    public void cleared(boolean destroyed) {
        receiveQueue.clear(this, destroyed);
        if (sendQueue != receiveQueue) {
            sendQueue.clear(this, destroyed);
        }
    }

    /** Forgets the posted work requests that complete in a queue. The caller holds the lock of that queue. */
    @SuppressWarnings("ReferenceEquality") // queues are compared by identity
    void forget(CompletionQueueRing queue) {
        if (queue == sendQueue) {
            sends.reset();
        }
        if (queue == receiveQueue) {
            receives.reset();
        }
    }
}
