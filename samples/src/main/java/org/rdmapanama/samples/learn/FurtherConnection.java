package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;

import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairType;

/** Another connection with B, of A or of somebody else. Threads: one. */
final class FurtherConnection implements AutoCloseable {
    private static final int BYTES = 64;

    final QueuePair peer;
    final QueuePair b;
    final MemoryRegion memoryOfPeer;
    private final TwoEnds ends;

    /**
     * Connects new queue pairs, which use the completion queues that are there.
     *
     * @param domainOfB the protection domain of B's queue pair, which decides what the peer can reach
     */
    FurtherConnection(TwoEnds ends, ProtectionDomain domainOfB) {
        this.ends = ends;
        ConnectOptions options = new ConnectOptions().timeout(20).pathMtu(Mtu.BYTES_1024);
        peer = ends.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, ends.queueOfA));
        b = domainOfB.createQueuePair(new QueuePairOptions(QueuePairType.RC, ends.queueOfB));
        peer.localEndpoint(options);
        b.localEndpoint(options);
        peer.connect(b.localEndpoint());
        b.connect(peer.localEndpoint());
        memoryOfPeer = ends.domain.register(ends.arena.allocate(BYTES), LOCAL_WRITE);
    }

    /** Returns how a READ of the peer ends. {@link #memoryOfPeer} has what was read. */
    CompletionStatus read(RemoteMemory memory) throws InterruptedException {
        peer.postSend(SendWorkRequest.allocate(ends.arena, 1)
                .rdmaRead(memory)
                .add(memoryOfPeer, 0, memory.length())
                .signaled(true));
        return ends.await(ends.queueOfA).status(0);
    }

    @Override
    public void close() {
        peer.close();
        b.close();
        memoryOfPeer.close();
    }
}
