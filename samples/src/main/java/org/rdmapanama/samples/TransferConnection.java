package org.rdmapanama.samples;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;

/**
 * A connection between the two sides of a transfer: a queue pair, and a means to learn that the peer has disconnected,
 * which a queue pair does not notice by itself.
 *
 * <p>Threads: as the arena of the queue pair says.
 */
interface TransferConnection extends AutoCloseable {
    /** Alignment of memory. */
    int PAGE = 4096;

    ProtectionDomain protectionDomain();

    QueuePair queuePair();

    CompletionQueue sendQueue();

    CompletionQueue receiveQueue();

    /** Returns the channel that receives the completion events of both queues. */
    CompletionChannel completionChannel();

    /** Returns the port of the device, from 1. */
    int port();

    /** Whether the peer is still connected. Does not wait. */
    boolean isConnected() throws IOException;

    /** Disconnects, and closes the queue pair. */
    @Override
    void close();

    /** Registers memory that this side can write, with the given remote access. */
    default MemoryRegion register(MemorySegment memory, AccessFlag... access) {
        Set<AccessFlag> all = EnumSet.of(AccessFlag.LOCAL_WRITE);
        all.addAll(List.of(access));
        if (queuePair().context().transportType() == TransportType.IWARP) {
            // On iWARP the response to an RDMA READ arrives like a write of the peer.
            all.add(AccessFlag.REMOTE_WRITE);
        }
        return protectionDomain().register(memory, all.toArray(AccessFlag[]::new));
    }
}
