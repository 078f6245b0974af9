package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
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
    public TransferConnection connect(TransferLink link) throws IOException, InterruptedException {
        checkDevice();
        return meet(options.reach(host), link, true);
    }

    @Override
    public Listener listen() throws IOException {
        checkDevice();
        EndpointExchange.Listener listening = options.listen(out);
        return new Listener() {
            @Override
            public Client await(Duration limit) throws IOException {
                EndpointExchange exchange = listening.accept(limit, options.timeout());
                return link -> meet(exchange, link, false);
            }

            @Override
            public void close() throws IOException {
                listening.close();
            }
        };
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

    private TcpConnection meet(EndpointExchange exchange, TransferLink link, boolean client) throws IOException {
        VerbsArena arena = VerbsArena.ofConfined();
        boolean ready = false;
        try {
            TcpConnection connection = new TcpConnection(
                    arena, options.open(arena), options.devicePort(), link.sendWorkRequests(), exchange);
            ConnectOptions how = options.connectOptions(null).peer(exchange.peer());
            // The server adapts to the client's endpoint.
            Endpoint asked = client ? null : exchange.receive();
            Endpoint local = connection.queuePair().localEndpoint(how.remote(asked));
            LinkOptions.print(out, "local address", local);
            if (client) {
                exchange.send(local);
            }
            Endpoint remote = client ? exchange.receive() : asked;
            LinkOptions.print(out, "remote address", remote);
            connection.connect(remote, link);
            if (client) {
                exchange.sendDone();
            } else {
                exchange.send(local);
                exchange.receiveDone();
            }
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                try (arena) {
                    exchange.close();
                }
            }
        }
    }
}
