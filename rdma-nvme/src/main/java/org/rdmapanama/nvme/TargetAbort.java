package org.rdmapanama.nvme;

import org.jspecify.annotations.Nullable;

/**
 * An Abort that a host has sent: the Admin queue hands it to the queue of the command, and answers it when that has decided.
 *
 * <p>Threads: those of both queues.
 */
final class TargetAbort {
    private final TargetQueue admin;
    private final TargetQueue of;
    private final int command;

    /** Whether the queue has looked for commands since this came. The queue's own thread uses it. */
    private boolean current;

    private volatile @Nullable Boolean aborted;

    /**
     * Takes an Abort.
     *
     * @param admin the queue that it came on
     * @param of the queue of the command
     * @param command the identifier of the command
     */
    TargetAbort(TargetQueue admin, TargetQueue of, int command) {
        this.admin = admin;
        this.of = of;
        this.command = command;
    }

    int command() {
        return command;
    }

    /** The next look for commands finds all that came before this. */
    void look() {
        current = true;
    }

    boolean isCurrent() {
        return current;
    }

    /** Says whether the command was aborted. */
    void decide(boolean isAborted) {
        aborted = isAborted;
        admin.wakeup();
    }

    /** Whether it is decided; a queue that ends aborts nothing. */
    boolean isDecided() {
        return aborted != null || of.isStopping();
    }

    boolean isAborted() {
        return Boolean.TRUE.equals(aborted);
    }
}
