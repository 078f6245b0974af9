package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Lab;

/** Clients that look like rsockets while connecting, and then do what a test wants. */
final class RawPeer {
    /** How large the list of offers is, and more. */
    private static final int DATA_AT = 64;

    private RawPeer() {}

    /** Connects a client with such options to a server. */
    static RdmaConnection connect(VerbsArena arena, RServerSocketChannel server, RdmaConnectionOptions options)
            throws IOException, InterruptedException {
        return new RdmaClient(arena)
                .connect(
                        (InetSocketAddress) server.getLocalAddress(),
                        options.localAddress(new InetSocketAddress(Lab.FIRST_HOST, 0)),
                        Lab.SECONDS);
    }

    /**
     * Options of such a client.
     *
     * @param credits how many messages it says it takes
     * @param bytes how much data it offers room for
     * @param receives how many messages it takes
     */
    static RdmaConnectionOptions options(int credits, int bytes, int receives) {
        MemoryRegion[] memory = new MemoryRegion[1];
        return new RdmaConnectionOptions()
                .prepare(connection -> {
                    memory[0] = connection.register(DATA_AT + bytes, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
                    ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(connection.queuePair(), 0);
                    for (int i = 0; i < receives; i++) {
                        connection.queuePair().postReceive(receive);
                    }
                })
                .privateData(connection -> {
                    Offer offers = new Offer(memory[0].address(), memory[0].rkey(), ConnectionData.OFFERS);
                    Offer space = new Offer(memory[0].address() + DATA_AT, memory[0].rkey(), bytes);
                    return new ConnectionData(false, credits, 0, offers, space).toBytes();
                });
    }
}
