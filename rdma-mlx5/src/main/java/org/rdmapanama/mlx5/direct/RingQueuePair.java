package org.rdmapanama.mlx5.direct;

import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.SendVerbs;

/** A queue pair: its rings, and the completion queues that know it by its number. */
final class RingQueuePair extends DirectQueuePair {
    private final SendQueueRing sends;
    private final ReceiveQueueRing receives;
    private final SharedReceiveQueueRing sharedReceives;
    private final CompletionQueueRing sendQueue;
    private final CompletionQueueRing receiveQueue;
    private final RingSendVerbs verbs;

    /**
     * Creates a queue pair that {@link #join} makes known.
     *
     * @param sharedReceives null if it has its own receive queue
     */
    RingQueuePair(
            int number,
            SendQueueRing sends,
            ReceiveQueueRing receives,
            SharedReceiveQueueRing sharedReceives,
            CompletionQueueRing sendQueue,
            CompletionQueueRing receiveQueue) {
        super(number);
        this.sends = sends;
        this.receives = receives;
        this.sharedReceives = sharedReceives;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        verbs = new RingSendVerbs(sends);
    }

    /** Has the completion queues know this. */
    void join() {
        sendQueue.add(this);
        receiveQueue.add(this);
    }

    SendQueueRing sends() {
        return sends;
    }

    /** Takes the receive of a completion, which names it only if it was shared, and returns its identifier. */
    long takeReceive(int counter) {
        return sharedReceives == null ? receives.take() : sharedReceives.take(counter);
    }

    boolean sharesReceives() {
        return sharedReceives != null;
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
        sends.reset();
        receives.reset();
    }
}
