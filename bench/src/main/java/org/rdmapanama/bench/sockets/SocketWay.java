package org.rdmapanama.bench.sockets;

import java.io.IOException;

/**
 * A way to use sockets.
 *
 * @param title what the table calls it
 * @param rdma whether it is over RDMA
 * @param kind what uses them
 */
record SocketWay(String title, boolean rdma, Kind kind) {
    /** What uses sockets, and how it waits. */
    enum Kind {
        BLOCKING,
        /** Blocking, and chunks are sent from registered memory. */
        REGISTERED,
        SPINNING,
        NETTY;

        boolean blocks() {
            return this == BLOCKING || this == REGISTERED;
        }
    }

    Server server(Settings settings) throws IOException, InterruptedException {
        return kind == Kind.NETTY ? new NettyServer(settings) : new ChannelServer(settings, kind.blocks());
    }

    Client client(Settings settings, int echoPort, int chunkPort) throws IOException, InterruptedException {
        return kind == Kind.NETTY
                ? new NettyClient(settings, echoPort, chunkPort)
                : new ChannelClient(settings, kind, echoPort, chunkPort);
    }
}
