package org.rdmapanama.soft;

/**
 * The requester or responder half of a queue pair that has something to send at the end of a turn. {@link ProgressEngine} queues
 * it and calls it, on the device's thread or on that of a polling caller. Callers must hold the lock of the device.
 */
abstract class DeferredSender {
    final SoftQueuePair queuePair;

    /** Whether {@link ProgressEngine} has it in its queue. */
    boolean queued;

    /** Whether {@link ProgressEngine} has it in the queue of those that wait for room for a packet. */
    boolean awaitsRoom;

    DeferredSender(SoftQueuePair queuePair) {
        this.queuePair = queuePair;
    }

    /** Returns whether sending can wait until more than this number of turns have passed without a packet. */
    boolean canWait(int turns) {
        return false;
    }

    /** Sends what is due; if there is more than fits into a turn, the rest follows in the next one. */
    abstract void endTurn();

    /** Called when {@link #endTurn} threw: the queue pair fails, unless it can go on. */
    final void failed(Throwable cause) {
        queuePair.failed(cause);
    }
}
