package org.rdmapanama.bench.sockets;

import java.nio.channels.spi.SelectorProvider;
import org.rdmapanama.rsocket.RSocketProvider;

/**
 * Where channels connect, and what makes them.
 *
 * @param rdma whether they are over RDMA rather than TCP
 * @param host the address of the server
 * @param from the address of the client
 */
record Settings(boolean rdma, String host, String from) {
    /** Bytes of the send and of the receive buffer, as rstream has them. */
    static final int BUFFER = 1 << 19;

    SelectorProvider provider() {
        return rdma ? RSocketProvider.instance() : SelectorProvider.provider();
    }
}
