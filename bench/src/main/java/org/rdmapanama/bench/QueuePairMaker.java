package org.rdmapanama.bench;

import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.cm.CmId;

/** Creates queue pairs like those of cmtime, which share two completion queues, each with a channel. */
final class QueuePairMaker {
    private final ProtectionDomain domain;
    private final CompletionQueue sends;
    private final CompletionQueue receives;

    QueuePairMaker(Context context) {
        domain = context.allocateProtectionDomain();
        CompletionChannel sendChannel = context.createCompletionChannel();
        sends = context.createCompletionQueue(1, sendChannel, 0);
        CompletionChannel receiveChannel = context.createCompletionChannel();
        receives = context.createCompletionQueue(1, receiveChannel, 0);
    }

    QueuePair make(CmId id) {
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(id.queuePairType(), sends, receives)
                .maxSendWorkRequests(1)
                .maxReceiveWorkRequests(1));
        id.initialize(queuePair);
        return queuePair;
    }
}
