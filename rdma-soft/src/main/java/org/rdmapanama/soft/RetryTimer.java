package org.rdmapanama.soft;

/**
 * The timer of a queue pair, which waits for answers and before retries, and the retries that are left. The requesters use
 * it; {@link ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class RetryTimer implements Timed {
    private static final int ENDLESS_RNR = 7;

    /** A timeout of 0 stands for no timeout; the others double this. */
    private static final long SHORTEST_TIMEOUT = 4096;

    private final SoftQueuePair queuePair;
    private final ProgressEngine engine;
    private int retriesLeft;
    private int rnrRetriesLeft;

    /** The deadline, by System.nanoTime(), while {@link #waiting}. */
    private long deadline;

    private boolean waiting;

    /** Whether {@link ProgressEngine} has the timer in its list. */
    private boolean listed;

    RetryTimer(SoftQueuePair queuePair, ProgressEngine engine) {
        this.queuePair = queuePair;
        this.engine = engine;
    }

    void resetRetries() {
        retriesLeft = queuePair.retries();
        rnrRetriesLeft = queuePair.rnrRetries();
    }

    /** Returns whether to retransmit what got no answer; otherwise the queue pair fails. */
    boolean mayRetry() {
        if (retriesLeft-- == 0) {
            queuePair.failFirst(VerbsConstants.RETRY_EXC_ERR);
            return false;
        }
        return true;
    }

    /** Returns whether to retry after an RNR NAK; otherwise the queue pair fails. */
    boolean mayRetryWhenReady() {
        if (queuePair.rnrRetries() != ENDLESS_RNR && rnrRetriesLeft-- == 0) {
            queuePair.failFirst(VerbsConstants.RNR_RETRY_EXC_ERR);
            return false;
        }
        return true;
    }

    void pause(long nanos) {
        waitUntil(System.nanoTime() + nanos);
    }

    void pauseForEver() {
        waitUntil(NEVER);
    }

    boolean isPausing() {
        return waiting;
    }

    /** Returns whether answers have a time limit. */
    boolean isEnabled() {
        return queuePair.timeout() != 0;
    }

    /** Starts the timer for an answer, unless it is running. */
    void arm() {
        int timeout = queuePair.timeout();
        if (!waiting && timeout != 0) {
            waitUntil(System.nanoTime() + (SHORTEST_TIMEOUT << timeout));
        }
    }

    /** Restarts the timer if an answer is still outstanding, and stops it otherwise. */
    void restart(boolean outstanding) {
        if (!outstanding) {
            stop();
        } else if (waiting) {
            deadline = System.nanoTime() + (SHORTEST_TIMEOUT << queuePair.timeout());
        }
    }

    private void waitUntil(long nanos) {
        waiting = true;
        deadline = nanos;
        if (nanos != NEVER) {
            engine.wakeAt(this, listed);
            listed = true;
        }
    }

    /**
     * Stops the timer lazily: {@link Timers} finds out when it next checks. Most timers are stopped long before their
     * deadline.
     */
    void stop() {
        waiting = false;
    }

    /** Removes the timer from the list, because the queue pair is destroyed. */
    void forget() {
        if (listed) {
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
            queuePair.expired();
        }
    }

    @Override
    public void failed(Throwable cause) {
        queuePair.failed(cause);
    }
}
