package org.rdmapanama.cards;

/** A queue in memory that a card looks at. Called with the lock of the {@link DeviceFile} held. */
interface CardQueue {
    /**
     * Does what the program has posted, or writes what is complete.
     *
     * @return whether there was anything to do
     */
    boolean work();

    /** Frees what the card has for the queue, which was destroyed. */
    void close();
}
