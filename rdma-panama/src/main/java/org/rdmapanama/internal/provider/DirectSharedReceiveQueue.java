package org.rdmapanama.internal.provider;

/** A shared receive queue to whose ring Java posts; see {@link DirectPath}. */
public abstract class DirectSharedReceiveQueue implements PostVerbs {
    /** For subclasses. */
    protected DirectSharedReceiveQueue() {}

    /** A shared receive queue is not a queue pair. */
    @Override
    public final int postSend(long queuePair, long workRequest, long bad) {
        throw new UnsupportedOperationException("this is a shared receive queue");
    }

    /** A shared receive queue is not a queue pair. */
    @Override
    public final int postReceive(long queuePair, long workRequest, long bad) {
        throw new UnsupportedOperationException("this is a shared receive queue");
    }
}
