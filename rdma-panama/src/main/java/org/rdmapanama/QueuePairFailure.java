package org.rdmapanama;

import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEventType;

/**
 * Why a queue pair is in the error state: the first thing that told of it. {@link QueuePair#failure} returns it.
 *
 * <p>Usually it is a completion with an error status. It may be an asynchronous event, if a peer's request caused the
 * failure. The completions that are flushed afterwards do not replace it.
 *
 * <p>Threads: any; it does not change.
 */
public final class QueuePairFailure {
    private final CompletionStatus status;
    private final @Nullable AsyncEventType event;
    private final long workRequestId;
    private final int vendorError;
    private final String text;

    private QueuePairFailure(
            CompletionStatus status, @Nullable AsyncEventType event, long workRequestId, int vendorError, String text) {
        this.status = status;
        this.event = event;
        this.workRequestId = workRequestId;
        this.vendorError = vendorError;
        this.text = text;
    }

    static QueuePairFailure ofCompletion(CompletionStatus status, long workRequestId, int vendorError, String text) {
        return new QueuePairFailure(Objects.requireNonNull(status), null, workRequestId, vendorError, text);
    }

    static QueuePairFailure ofEvent(AsyncEventType event, String text) {
        return new QueuePairFailure(CompletionStatus.WR_FLUSH_ERR, Objects.requireNonNull(event), 0, 0, text);
    }

    /**
     * Returns whether the cause is known. It is not when only flushed completions have come: then the device, the kernel
     * or the peer put the queue pair into the error state, or the completion that tells the cause has not been polled yet.
     *
     * @return false if the status is {@link CompletionStatus#WR_FLUSH_ERR} and there is no event
     */
    public boolean isCauseKnown() {
        return status != CompletionStatus.WR_FLUSH_ERR || event != null;
    }

    /**
     * Returns the status of the completion that told of the failure.
     *
     * @return the status; {@link CompletionStatus#WR_FLUSH_ERR} if the cause is not known, or an event told of it
     */
    public CompletionStatus status() {
        return status;
    }

    /**
     * Returns the asynchronous event that told of the failure.
     *
     * @return QP_FATAL, QP_REQ_ERR or QP_ACCESS_ERR; empty if a completion told of it
     */
    public Optional<AsyncEventType> event() {
        return Optional.ofNullable(event);
    }

    /**
     * Returns the identifier of the work request that failed.
     *
     * @return any 64 bits; 0 if an event told of the failure
     */
    public long workRequestId() {
        return workRequestId;
    }

    /**
     * Returns the vendor-specific error code of the completion.
     *
     * @return the code, 0 if there is none
     */
    public int vendorError() {
        return vendorError;
    }

    /** Returns one line with the status or the event, the operation, the queue pair, its peer, the likely cause and the cure. */
    @Override
    public String toString() {
        return text;
    }
}
