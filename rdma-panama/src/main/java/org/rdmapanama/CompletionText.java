package org.rdmapanama;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionStatus;

/** Says in one line what a completion with an error status means, for logs and exceptions. */
final class CompletionText {
    private CompletionText() {}

    /**
     * Describes a completion of a queue pair.
     *
     * @param queuePair its queue pair
     * @param queue where it was polled
     */
    static String of(
            QueuePair queuePair,
            @Nullable CompletionQueue queue,
            CompletionStatus status,
            int vendorError,
            long workRequestId) {
        String number = " on queue pair 0x%06x".formatted(queuePair.number());
        String described = WorkCompletions.explained(status, vendorError) + " of " + operation(queuePair, queue, status)
                + number + queuePair.failures().peer() + ", work request " + workRequestId + "; ";
        QueuePairFailure first = queuePair.failures().get();
        if (status == CompletionStatus.WR_FLUSH_ERR && first != null && first.isCauseKnown()) {
            return described + "the first failure was: " + first;
        }
        return described + status.cure();
    }

    /** Describes a completion whose queue pair is not known, or closed. */
    static String of(String number, CompletionStatus status, int vendorError, long workRequestId) {
        String rest = number + ", work request " + workRequestId;
        return status == CompletionStatus.SUCCESS
                ? status + rest
                : WorkCompletions.explained(status, vendorError) + " of " + status.operation() + rest + "; "
                        + status.cure();
    }

    /** The opcode of a failed completion is not valid; ibv_poll_cq(3). What failed follows from its queue and status. */
    @SuppressWarnings("ReferenceEquality") // queues are compared by identity
    private static String operation(QueuePair queuePair, @Nullable CompletionQueue queue, CompletionStatus status) {
        boolean received = queuePair.receiveQueue() == queue && queuePair.sendQueue() != queue;
        return received ? "a receive" : status.operation();
    }
}
