package org.rdmapanama.soft;

/** A half of a queue pair that has something to send at the end of a turn. Whoever calls has the device's lock. */
abstract class Later {
    final SoftQueuePair queuePair;

    /** Whether it is in the device's list of those. */
    boolean queued;

    Later(SoftQueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** Whether what it has to send can wait for longer than so many turns without a packet. */
    boolean canWait(int turns) {
        return false;
    }

    /** Sends it; what is still more, in the next turn. */
    abstract void endTurn();

    /** That could not be done, for a reason that should not be: the queue pair fails. */
    final void failed(Throwable cause) {
        queuePair.failed(cause);
    }
}
