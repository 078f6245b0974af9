package org.rdmapanama.samples.perf;

import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;

/** Work requests that are encoded once, and posted by {@link QueuePair#postSend}. */
final class RequestMessage extends Message {
    private final QueuePair queuePair;
    private final SendWorkRequest first;

    /** The requests of a list must have the identifier with which it is posted. */
    RequestMessage(QueuePair queuePair, SendWorkRequest first) {
        this.queuePair = queuePair;
        this.first = first;
    }

    @Override
    void post(long id) {
        queuePair.postSend(first.id(id));
    }
}
