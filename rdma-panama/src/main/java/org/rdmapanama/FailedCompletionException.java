package org.rdmapanama;

import org.rdmapanama.completion.CompletionStatus;

/**
 * Thrown by {@link WorkCompletions#check} and {@link PollCursor#check} for a completion with an error status. The message
 * says what was posted, to which peer, what the likely cause is, and what to do about it.
 */
public final class FailedCompletionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The status of the completion. */
    private final CompletionStatus status;

    /** The identifier of the work request. */
    private final long workRequestId;

    FailedCompletionException(String message, CompletionStatus status, long workRequestId) {
        super(message);
        this.status = status;
        this.workRequestId = workRequestId;
    }

    /** {@return the status of the completion, never SUCCESS} */
    public CompletionStatus status() {
        return status;
    }

    /** {@return the identifier that the work request was posted with} */
    public long workRequestId() {
        return workRequestId;
    }
}
