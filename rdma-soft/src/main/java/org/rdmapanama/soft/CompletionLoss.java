package org.rdmapanama.soft;

/**
 * The end of a queue pair whose completion queue has overrun: the specification does not let it go on, because the program
 * would miss completions (IBA specification, volume 1, section 11.6.3.2). It comes at the end of the turn, because a
 * completion is added in the middle of the work of one queue pair or of two.
 *
 * <p>{@link SoftQueuePair} owns one and queues it; {@link ProgressEngine} runs it. Callers must hold the lock of the device.
 */
final class CompletionLoss extends DeferredSender {
    CompletionLoss(SoftQueuePair queuePair) {
        super(queuePair);
    }

    @Override
    void endTurn() {
        queuePair.failAfterLoss();
    }
}
