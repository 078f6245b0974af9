package org.rdmapanama.soft;

/**
 * Asks the peer of a queue pair when an answer is overdue, long before the timeout. The peer reports a missing packet when
 * a later one arrives; if the last packets are lost, none does. A probe spends no retry. {@link WireRequester} owns it, and
 * {@link ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class LossProbe extends LazyTimer {
    /** The longest pause between two probes is that between the first two times this power of two. */
    private static final int MAX_DOUBLINGS = 8;

    /** How long the next answer takes after one, if a peer that was late is at work again. Clocks may count milliseconds. */
    private static final long NEXT_NANOS = 1_000_000;

    private final WireRequester requester;

    /** The number of probes since the last answer that was timed. */
    private int unanswered;

    LossProbe(WireRequester requester, ProgressEngine engine) {
        super(engine);
        this.requester = requester;
    }

    /** Returns the number of probes since the last answer that was timed. */
    int unanswered() {
        return unanswered;
    }

    /** Expects an answer after some nanoseconds, unless one is expected already. */
    void arm(long patience) {
        if (!isWaiting()) {
            waitUntil(System.nanoTime() + (patience << Math.min(unanswered, MAX_DOUBLINGS)));
        }
    }

    /** Expects another answer soon after one. */
    void armForNext() {
        waitUntil(System.nanoTime() + NEXT_NANOS);
    }

    /**
     * Notes an answer.
     *
     * @param isTimed whether it was timed: if none is because all are late, the pauses must not become shorter again
     */
    void answered(boolean isTimed) {
        stop();
        if (isTimed) {
            unanswered = 0;
        }
    }

    /** Notes that a probe is sent. */
    void probed() {
        unanswered++;
    }

    @Override
    void due() {
        requester.answerOverdue();
    }

    @Override
    public void failed(Throwable cause) {
        requester.failed(cause);
    }
}
