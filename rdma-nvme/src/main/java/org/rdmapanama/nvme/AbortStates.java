package org.rdmapanama.nvme;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Which commands of a queue are to be aborted. The queue's user asks for it, and the thread that keeps the association sends the
 * Abort on the Admin queue. A slot whose Abort is under way must not be used again: the Abort would hit the next command.
 *
 * <p>Threads: any number.
 */
final class AbortStates {
    private static final int NONE = 0;
    private static final int ASKED = 1;
    private static final int SENT = 2;

    private final AtomicIntegerArray states;

    AbortStates(int slots) {
        states = new AtomicIntegerArray(slots);
    }

    /** Asks for an Abort, and returns whether nobody had. */
    boolean ask(int slot) {
        return states.compareAndSet(slot, NONE, ASKED);
    }

    /** Returns whether the Abort is still wanted; then it is to be sent now. */
    boolean send(int slot) {
        return states.compareAndSet(slot, ASKED, SENT);
    }

    /** The command has ended: an Abort that was not sent is not wanted any more. */
    void cancel(int slot) {
        states.compareAndSet(slot, ASKED, NONE);
    }

    /** The Abort was answered. */
    void answered(int slot) {
        states.set(slot, NONE);
    }

    /** Whether an Abort of any command was sent and is not answered. */
    boolean isAnySent() {
        for (int i = 0; i < states.length(); i++) {
            if (isSent(i)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the Abort was sent and is not answered. */
    boolean isSent(int slot) {
        return states.get(slot) == SENT;
    }
}
