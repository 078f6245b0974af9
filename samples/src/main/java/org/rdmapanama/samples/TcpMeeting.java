package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.queue.QueuePairType;

/** Connects by exchanging endpoints over TCP, for devices and kernels without a connection manager. */
final class TcpMeeting implements Meeting {
    private final LinkOptions options;
    private final String host;
    private final PrintWriter out;

    /** Creates the meeting of a client with the server on a host, or of a server if the host is null. */
    TcpMeeting(LinkOptions options, String host, PrintWriter out) {
        this.options = options;
        this.host = host;
        this.out = out;
    }

    @Override
    public TransferConnection connect(VerbsArena arena, TransferLink link) throws IOException, InterruptedException {
        checkDevice();
        EndpointExchange exchange = options.reach(host);
        boolean ready = false;
        try {
            TransferConnection connection = meet(arena, exchange, link);
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                exchange.close();
            }
        }
    }

    @Override
    public Entrance listen(TransferServer server) throws IOException {
        checkDevice();
        return new TcpEntrance(server, options, options.listen(out));
    }

    /** Finds errors before a peer is there that would fail with us. */
    private void checkDevice() {
        Device device = options.device();
        if (device.transportType() == TransportType.IWARP) {
            throw new Failure(device.name() + " is iWARP, which only the connection manager connects: leave out --tcp");
        }
        // Checks the port and the GID index.
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = options.open(arena);
            CompletionQueue queue = context.createCompletionQueue(1);
            context.allocateProtectionDomain()
                    .createQueuePair(new QueuePairOptions(QueuePairType.RC, queue))
                    .localEndpoint(options.connectOptions(null));
        }
    }

    private TcpConnection meet(VerbsArena arena, EndpointExchange exchange, TransferLink link) throws IOException {
        Context context = options.open(arena);
        CompletionChannel channel = context.createCompletionChannel();
        TcpConnection connection = new TcpConnection(
                context.allocateProtectionDomain(),
                channel,
                context.createCompletionQueue(link.sendWorkRequests(), channel, 0),
                context.createCompletionQueue(TransferLink.RECEIVES, channel, 0),
                options.devicePort(),
                link.sendWorkRequests(),
                exchange);
        Endpoint local = connection
                .queuePair()
                .localEndpoint(options.connectOptions(null).peer(exchange.peer()));
        LinkOptions.print(out, "local address", local);
        exchange.send(local);
        Endpoint remote = exchange.receive();
        LinkOptions.print(out, "remote address", remote);
        connection.queuePair().connect(remote);
        link.prepare(connection);
        exchange.sendDone();
        return connection;
    }
}
