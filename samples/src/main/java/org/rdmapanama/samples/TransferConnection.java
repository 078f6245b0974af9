package org.rdmapanama.samples;

import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.TransportType;
import org.rdmapanama.VerbsArena;

/**
 * What connects the two sides of a transfer: a queue pair, and the word of the peer's end, which a queue pair does not
 * notice by itself.
 *
 * <p>Threads: the one that made it.
 */
interface TransferConnection extends AutoCloseable {
    /** What memory is aligned to. */
    int PAGE = 4096;

    /** Owns all that is made for this connection, and ends with it. */
    VerbsArena arena();

    ProtectionDomain protectionDomain();

    QueuePair queuePair();

    CompletionQueue sendQueue();

    CompletionQueue receiveQueue();

    /** Where both completion queues tell that something completed. */
    CompletionChannel completionChannel();

    /** The port of the device, from 1. */
    int port();

    /** Whether the peer has not hung up. Does not wait. */
    boolean isConnected() throws IOException;

    /** Hangs up, and closes everything. */
    @Override
    void close();

    /** Allocates and registers memory that this side reads into, and the peer uses as given. */
    default MemoryRegion register(long size, AccessFlag... access) {
        Set<AccessFlag> all = EnumSet.of(AccessFlag.LOCAL_WRITE);
        all.addAll(List.of(access));
        if (queuePair().context().transportType() == TransportType.IWARP) {
            // There, what an RDMA READ brings is written as a peer writes.
            all.add(AccessFlag.REMOTE_WRITE);
        }
        return protectionDomain().register(arena().allocate(size, PAGE), all.toArray(AccessFlag[]::new));
    }
}
