package org.rdmapanama.soft;

/**
 * The timer of a queue pair, which waits for answers and before retries, and the retries that are left. The requesters use
 * it; {@link ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class RetryTimer extends LazyTimer {
    private static final int ENDLESS_RNR = 7;

    /** A timeout of 0 stands for no timeout; the others double this. */
    private static final long SHORTEST_TIMEOUT = 4096;

    private final SoftQueuePair queuePair;
    private int retriesLeft;
    private int rnrRetriesLeft;

    RetryTimer(SoftQueuePair queuePair, ProgressEngine engine) {
        super(engine);
        this.queuePair = queuePair;
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
        return isWaiting();
    }

    /** Returns whether answers have a time limit. */
    boolean isEnabled() {
        return queuePair.timeout() != 0;
    }

    /** Starts the timer for an answer, unless it is running. */
    void arm() {
        if (!isWaiting() && isEnabled()) {
            waitUntil(timeout());
        }
    }

    /** Restarts the timer if an answer is still outstanding, and stops it otherwise. */
    void restart(boolean outstanding) {
        if (!outstanding) {
            stop();
        } else if (isWaiting()) {
            waitLonger(timeout());
        }
    }

    /** Returns when an answer to a packet that is sent now is late. */
    private long timeout() {
        return System.nanoTime() + (SHORTEST_TIMEOUT << queuePair.timeout());
    }

    @Override
    void due() {
        queuePair.expired();
    }

    @Override
    public void failed(Throwable cause) {
        queuePair.failed(cause);
    }
}
