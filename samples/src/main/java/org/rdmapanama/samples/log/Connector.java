package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.time.Duration;

/** Connects a primary to its replicas. Threads: any. */
interface Connector extends AutoCloseable {
    /**
     * Asks a replica to follow.
     *
     * @throws FencedException when it has promised a higher term, or this one to another node
     * @throws UnreachableException when it cannot be reached; over RDMA also {@link org.rdmapanama.VerbsException}
     * @throws LogException when it may not follow
     */
    Link connect(InetSocketAddress address, Durability durability, long term, Duration timeout)
            throws InterruptedException;

    /** Ends all connections, also while others use them. */
    @Override
    void close();
}
