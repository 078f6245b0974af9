package org.rdmapanama.soft;

/**
 * The sending half of a queue pair, from RTS on: does what is posted, and tells the queue pair what is over. Whoever calls
 * has the device's lock.
 */
abstract class Requester extends Later {
    Requester(SoftQueuePair queuePair) {
        super(queuePair);
    }

    /** Does as much of what is posted as can be done now. */
    abstract void run();

    /** Whether nothing that has begun is still under way. */
    abstract boolean isDrained();

    /** The time that the queue pair waited for has come: nothing was heard, or the receiver may be ready now. */
    void expired() {
        run();
    }

    /** Whether an answer is to come. */
    boolean isWaiting() {
        return false;
    }

    /** An acknowledgement, or a response, of a peer elsewhere. */
    void receive(long packet, int opcode, int payloadBytes) {
        // There is nothing to answer.
    }

    /** The peer is there from now on. */
    void path(SoftAddressHandle newPath) {
        // Found by its number.
    }

    /** Sends nothing any more. */
    void stop() {
        // There is nothing under way.
    }

    @Override
    void endTurn() {
        run();
    }
}
