package org.rdmapanama.internal.provider;

/** A queue pair to whose rings Java posts; see {@link DirectPath}. The addresses that its methods take are ignored. */
public abstract class DirectQueuePair implements PostVerbs {
    private final int number;

    /**
     * For subclasses.
     *
     * @param number the number of the queue pair, by which completions name it
     */
    protected DirectQueuePair(int number) {
        this.number = number;
    }

    /** {@return the number of the queue pair} */
    public final int number() {
        return number;
    }

    /** A queue pair is not a shared receive queue. */
    @Override
    public final int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        throw new UnsupportedOperationException("this is a queue pair");
    }

    /**
     * Returns the work request builder of this queue pair, if it is an extended one.
     *
     * @return the builder
     */
    public abstract SendVerbs sendVerbs();

    /**
     * Forgets all that was posted, and removes its completions from the completion queues: the queue pair is in state RESET,
     * or destroyed. No other call may be in progress on it.
     *
     * @param destroyed whether it is destroyed
     */
    public abstract void cleared(boolean destroyed);
}
