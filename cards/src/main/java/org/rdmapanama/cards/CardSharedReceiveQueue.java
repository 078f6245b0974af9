package org.rdmapanama.cards;

/** A shared receive queue of a card. */
interface CardSharedReceiveQueue extends CardQueue {
    /** Returns the soft0 queue. */
    long softQueue();
}
