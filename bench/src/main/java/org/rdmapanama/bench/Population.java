package org.rdmapanama.bench;

/** Any number of objects of one kind, and a work request that uses them in turn. */
interface Population {
    /** Creates one more object. */
    void create(int index);

    /** Connects an object. Returns false if there is nothing to connect. */
    default boolean connect(int index) {
        return false;
    }

    /** Posts a work request that uses one of the objects, and polls until it has completed. */
    void postAndPoll(int index) throws InterruptedException;

    /** Closes an object. */
    void close(int index);
}
