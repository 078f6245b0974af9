package org.rdmapanama.cards;

/** A completion queue of a card: moves completions of a soft0 queue into the memory that the provider reads. */
interface CardCompletionQueue extends CardQueue {
    /** Returns the soft0 queue. */
    long softQueue();

    /** Returns the identifier of the queue that the provider gave, for events. */
    long handle();

    /** Withdraws the completion events that the program has not read. Returns how many it has read. */
    int withdrawEvents();

    /**
     * Writes a completion with an error.
     *
     * @param id what a {@link WorkId} has put together
     * @param status of enum ibv_wc_status
     */
    void fail(CardQueuePair pair, long id, int status);

    /** Moves to other memory: the driver's part of RESIZE_CQ. Returns the new capacity, or a negated errno. */
    int resize(int entries, long in);
}
