package org.rdmapanama.internal.provider;

import java.util.function.Supplier;
import org.rdmapanama.QueuePair;
import org.rdmapanama.internal.ObjectModelAccess;

/** What a connection of another module learns of the failure of its queue pair. Threads: any. */
public final class QueuePairFailures {
    private QueuePairFailures() {}

    /**
     * Names the peer of a queue pair, and watches for its failure.
     *
     * @param queuePair the queue pair
     * @param peerName called for messages; returns null while the peer is not known
     * @param failed called once, when the first completion or event tells of a failure, by the thread that polls or takes
     *     the event; must neither wait nor throw
     */
    public static void watch(QueuePair queuePair, Supplier<String> peerName, Runnable failed) {
        ObjectModelAccess.get().watch(queuePair, peerName, failed);
    }
}
