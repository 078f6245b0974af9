package org.rdmapanama.soft;

/**
 * Asks the peer of a queue pair when an answer is overdue, long before the timeout. The peer reports a missing packet when
 * a later one arrives; if the last packets are lost, none does. A probe spends no retry. {@link WireRequester} owns it, and
 * {@link ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class LossProbe implements Timed {
    /** The longest pause between two probes is that between the first two times this power of two. */
    private static final int MAX_DOUBLINGS = 8;

    private final WireRequester requester;
    private final ProgressEngine engine;
    private long deadline;
    private boolean waiting;

    /** Whether {@link ProgressEngine} has it in its list. */
    private boolean listed;

    /** The number of probes since the last answer. */
    private int unanswered;

    LossProbe(WireRequester requester, ProgressEngine engine) {
        this.requester = requester;
        this.engine = engine;
    }

    /** Returns the number of probes since the last answer. */
    int unanswered() {
        return unanswered;
    }

    /** Expects an answer after some nanoseconds, unless one is expected already. */
    void arm(long patience) {
        if (!waiting) {
            waiting = true;
            deadline = System.nanoTime() + (patience << Math.min(unanswered, MAX_DOUBLINGS));
            engine.wakeAt(this, listed);
            listed = true;
        }
    }

    /**
     * Notes an answer. {@link Timers} finds out when it next checks.
     *
     * @param isTimed whether it was timed: if none is because all are late, the pauses must not become shorter again
     */
    void answered(boolean isTimed) {
        waiting = false;
        if (isTimed) {
            unanswered = 0;
        }
    }

    /** Removes it from the list, because the queue pair ends. */
    void forget() {
        answered(true);
        if (listed) {
            listed = false;
            engine.forget(this);
        }
    }

    @Override
    public long deadline() {
        return waiting ? deadline : NEVER;
    }

    @Override
    public void expired() {
        listed = false;
        if (waiting) {
            waiting = false;
            unanswered++;
            requester.answerOverdue();
        }
    }

    @Override
    public void failed(Throwable cause) {
        requester.failed(cause);
    }
}
