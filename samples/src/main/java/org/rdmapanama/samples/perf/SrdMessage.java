package org.rdmapanama.samples.perf;

import org.rdmapanama.AddressHandle;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.memory.RemoteMemory;

/** RDMA over SRD, which EFA takes only call by call. Each one is signaled. */
final class SrdMessage extends Message {
    private final ExtendedQueuePair queuePair;
    private final Peer peer;
    private final Operation operation;
    private final RemoteMemory remote;
    private final MemoryRegion region;
    private final long offset;
    private final int count;

    /** Where datagrams go. */
    record Peer(AddressHandle way, int queuePair, int qkey) {}

    SrdMessage(
            ExtendedQueuePair queuePair,
            Peer peer,
            Operation operation,
            RemoteMemory remote,
            MemoryRegion region,
            long offset,
            int count) {
        this.queuePair = queuePair;
        this.peer = peer;
        this.operation = operation;
        this.remote = remote;
        this.region = region;
        this.offset = offset;
        this.count = count;
    }

    @Override
    void post(long id) {
        try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
            for (int i = 0; i < count; i++) {
                batch.id(id).signaled(true);
                if (operation == Operation.READ) {
                    batch.rdmaRead(remote);
                } else {
                    batch.rdmaWrite(remote);
                }
                batch.add(region, offset, remote.length()).to(peer.way(), peer.queuePair(), peer.qkey());
            }
            batch.complete();
        }
    }
}
