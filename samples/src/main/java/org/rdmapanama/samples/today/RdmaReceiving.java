package org.rdmapanama.samples.today;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.IntConsumer;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.samples.Failure;

/** Lends its memory, and does nothing until the sender says that it is done. */
final class RdmaReceiving implements Job {
    private final RdmaEnd end;
    private final MemoryRegion region;

    /** Announces its port, and waits for the sender. */
    RdmaReceiving(MemorySegment memory, InetAddress at, Duration limit, IntConsumer tellPort)
            throws InterruptedException {
        VerbsArena arena = VerbsArena.ofConfined();
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(1)
                .receiveWorkRequests(1)
                .completionEvents(true)
                .prepare(made -> RdmaEnd.expectSign(arena, made));
        RdmaServerOptions serving = new RdmaServerOptions().connections(options);
        try (RdmaServer server = RdmaServer.listen(arena, new InetSocketAddress(at, 0), serving)) {
            tellPort.accept(server.localAddress().getPort());
            RdmaConnection connection = server.accept(limit)
                    .orElseThrow(() -> new Failure("no sender connected within " + limit.toSeconds() + " s"));
            end = new RdmaEnd(arena, connection, limit);
        }
        region = end.connection.protectionDomain().register(memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
    }

    @Override
    public String words() {
        return region.remote() + " " + end.words();
    }

    @Override
    public void run(String... peer) throws InterruptedException {
        end.await(end.connection.receiveQueue());
        end.giveSign();
        end.await(end.connection.sendQueue());
    }

    @Override
    public void close() {
        end.close();
    }
}
