package org.rdmapanama.bench.sockets;

import java.nio.channels.spi.SelectorProvider;
import org.rdmapanama.rsocket.RSocketProvider;

/**
 * Where channels connect, and what makes them.
 *
 * @param rdma whether they are over RDMA rather than TCP
 * @param host the address of the server
 * @param from the address of the client
 * @param chunk bytes that are written at once to measure bandwidth
 */
record Settings(boolean rdma, String host, String from, int chunk) {
    /** Bytes that are written to measure bandwidth, or a little less. */
    private static final int ALL = 1000 << 16;

    /** Bytes of the send and of the receive buffer, as rstream has them. */
    static final int BUFFER = 1 << 19;

    /** How many chunks the other end takes before it answers with a message. */
    int chunks() {
        return ALL / chunk;
    }

    SelectorProvider provider() {
        return rdma ? RSocketProvider.instance() : SelectorProvider.provider();
    }
}
