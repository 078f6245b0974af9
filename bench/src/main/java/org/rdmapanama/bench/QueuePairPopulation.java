package org.rdmapanama.bench;

import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.queue.QueuePairType;

/** Queue pairs on one completion queue, each connected to itself. */
final class QueuePairPopulation implements Population {
    private final ProtectionDomain domain;
    private final OneWrite write;
    private final QueuePair[] queuePairs;

    QueuePairPopulation(VerbsArena arena, Context context, int count) {
        domain = context.allocateProtectionDomain();
        write = new OneWrite(arena, domain);
        queuePairs = new QueuePair[count];
    }

    @Override
    public void create(int index) {
        queuePairs[index] = domain.createQueuePair(options(write));
    }

    static QueuePairOptions options(OneWrite write) {
        return new QueuePairOptions(QueuePairType.RC, write.queue)
                .maxSendWorkRequests(1)
                .maxReceiveWorkRequests(1);
    }

    @Override
    public boolean connect(int index) {
        queuePairs[index].connect(queuePairs[index].localEndpoint());
        return true;
    }

    @Override
    public void postAndPoll(int index) throws InterruptedException {
        write.through(queuePairs[index]);
    }

    @Override
    public void close(int index) {
        queuePairs[index].close();
    }
}
