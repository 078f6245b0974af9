package org.rdmapanama.bench;

/** Objects of one kind, as many as are wanted, and work requests that use one after the other. */
interface Population {
    /** Makes one more. */
    void create(int index);

    /** Connects one; false where there is nothing to connect. */
    default boolean connect(int index) {
        return false;
    }

    /** Posts a work request that uses one of them, and polls until it has completed. */
    void postAndPoll(int index) throws InterruptedException;

    /** Closes one. */
    void close(int index);
}
