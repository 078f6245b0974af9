package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;

/** Connects a primary by RDMA; the connections belong to its arena. */
final class RdmaConnector implements Connector {
    private final LogFile file;
    private final Regions regions;
    private final RdmaClient client;

    RdmaConnector(VerbsArena arena, LogFile file) {
        this.file = file;
        regions = new Regions(file.memory());
        client = new RdmaClient(arena);
    }

    @Override
    public Link connect(InetSocketAddress address, Durability durability, long term, Duration timeout)
            throws InterruptedException {
        return RdmaLink.connect(file, regions, client, address, durability, term, timeout);
    }

    /** Does nothing: the arena ends the connections. */
    @Override
    public void close() {}
}
