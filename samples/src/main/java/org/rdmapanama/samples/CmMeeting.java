package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Consumer;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RejectedException;

/**
 * Meets by address, through the connection manager. Private data says on both sides what they speak, so that nobody takes
 * a program of another kind for a peer.
 */
final class CmMeeting implements Meeting {
    /** Private data of both sides. */
    static final String PROTOCOL = "rdma-panama transfer 2";

    /** What a server's program answers that rejects; all others are of its connection manager. */
    private static final int REJECTED_BY_PROGRAM = 28;

    /** What fails where the kernel has no connection manager at all. */
    private static final String NO_CONNECTION_MANAGER = "rdma_create_event_channel";

    private static final String REFUSED = "ECONNREFUSED";

    /** What fails where a host says that it has no device: one of software is there while a program has it open. */
    private static final String CONNECT = "rdma_connect";

    private static final String UNREACHABLE = "EHOSTUNREACH";

    private final InetSocketAddress server;
    private final InetSocketAddress source;
    private final Duration timeout;
    private final PrintWriter out;
    private final Consumer<String> notes;

    /**
     * Between two addresses.
     *
     * @param server where the server listens
     * @param source where the client connects from; null for any
     * @param timeout how long a peer may be silent
     * @param out for what is to be known about the connection
     * @param notes for what is unexpected, and no failure
     */
    CmMeeting(
            InetSocketAddress server,
            InetSocketAddress source,
            Duration timeout,
            PrintWriter out,
            Consumer<String> notes) {
        this.server = server;
        this.source = source;
        this.timeout = timeout;
        this.out = out;
        this.notes = notes;
    }

    private static RdmaConnectionOptions options(VerbsArena arena, TransferLink link) {
        return new RdmaConnectionOptions()
                .sendWorkRequests(link.sendWorkRequests())
                .receiveWorkRequests(TransferLink.RECEIVES)
                .completionEvents(true)
                .privateData(bytes(PROTOCOL))
                .prepare(made -> link.prepare(new CmConnection(arena, made)));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** RoCE and InfiniBand fill up private data with zeros. */
    private static String text(byte... privateData) {
        return new String(privateData, StandardCharsets.US_ASCII).replace("\0", "");
    }

    // ---- the client

    @Override
    public TransferConnection connect(TransferLink link) throws InterruptedException {
        Patience patience = new Patience(
                timeout, () -> notes.accept("nobody listens at " + Addresses.text(server) + " yet, trying on"));
        while (true) {
            try {
                return connectOnce(link);
            } catch (ConnectionException e) {
                if (e.verb().equals(NO_CONNECTION_MANAGER)) {
                    throw e;
                }
                if (!nobodyListens(e) || !patience.goOn()) {
                    throw failure(e);
                }
            }
        }
    }

    private CmConnection connectOnce(TransferLink link) throws InterruptedException {
        VerbsArena arena = VerbsArena.ofConfined();
        CmConnection connection = null;
        boolean ready = false;
        try {
            RdmaConnectionOptions options = options(arena, link).localAddress(source);
            connection = new CmConnection(arena, new RdmaClient(arena).connect(server, options, timeout));
            if (!text(connection.connection().privateData()).equals(PROTOCOL)) {
                throw new Failure("what listens at " + Addresses.text(server)
                        + " is no 'rdma serve' of this version: check address and port");
            }
            print("connected:", connection.connection());
            ready = true;
            return connection;
        } finally {
            if (!ready) {
                close(arena, connection);
            }
        }
    }

    private static void close(VerbsArena arena, CmConnection connection) {
        if (connection != null) {
            connection.close();
        } else {
            arena.close();
        }
    }

    private static boolean nobodyListens(ConnectionException e) {
        boolean refused = e.errnoName().equals(REFUSED) && e.status() != REJECTED_BY_PROGRAM;
        boolean deviceless = e.errnoName().equals(UNREACHABLE) && e.verb().equals(CONNECT);
        return (refused || deviceless) && reason(e).isEmpty();
    }

    /** What the program said that rejected, if anything. */
    private static String reason(ConnectionException e) {
        return e instanceof RejectedException rejected ? text(rejected.privateData()) : "";
    }

    private Failure failure(ConnectionException e) {
        String there = Addresses.text(server);
        if (nobodyListens(e)) {
            return new Failure(
                    "cannot connect to " + there + ", nobody listens there: start 'rdma serve' there first, and check"
                            + " address and port",
                    e);
        }
        if (!e.errnoName().equals(REFUSED)) {
            return new Failure(
                    "cannot connect to " + there + " (" + e.getMessage()
                            + "): give the address of an RDMA port, or --tcp on both sides to meet over TCP",
                    e);
        }
        String reason = reason(e);
        return new Failure("the program at " + there + " turned us away" + (reason.isEmpty() ? "" : ": " + reason), e);
    }

    // ---- the server

    @Override
    public Listener listen() {
        CmListener listener = new CmListener();
        out.println("  waiting for a client at " + Addresses.text(listener.listening.localAddress()));
        out.flush();
        return listener;
    }

    private final class CmListener implements Listener {
        private final VerbsArena arena = VerbsArena.ofConfined();
        private final RdmaServer listening = RdmaServer.listen(arena, server);

        @Override
        public Client await(Duration limit) throws InterruptedException {
            while (true) {
                ConnectionRequest request = listening
                        .awaitRequest(limit)
                        .orElseThrow(() -> new Failure("no client came to " + Addresses.text(server) + " within "
                                + limit.toSeconds() + " s: start 'rdma transfer' with this host's address, or wait"
                                + " longer with --timeout"));
                if (text(request.privateData()).equals(PROTOCOL)) {
                    return link -> accept(request, link);
                }
                turnAway(request);
            }
        }

        @Override
        public void close() {
            listening.close();
            arena.close();
        }
    }

    private void turnAway(ConnectionRequest request) {
        notes.accept("turned away " + Addresses.text(request.remoteAddress())
                + ": it is no 'rdma transfer' of this version");
        try {
            request.reject(bytes("only 'rdma transfer' is served here"));
        } catch (ConnectionException e) {
            // It has gone by itself.
        }
    }

    private CmConnection accept(ConnectionRequest request, TransferLink link) throws InterruptedException {
        VerbsArena arena = VerbsArena.ofConfined();
        boolean ready = false;
        try {
            RdmaConnectionOptions options = options(arena, link)
                    .protectionDomain(request.id().openContext(arena).allocateProtectionDomain());
            RdmaConnection connection = request.accept(options, timeout);
            print("client:", connection);
            ready = true;
            return new CmConnection(arena, connection);
        } catch (ConnectionException e) {
            throw new Failure(
                    "a client went away before it was connected (" + e.getMessage() + "): see what it printed", e);
        } finally {
            if (!ready) {
                arena.close();
            }
        }
    }

    private void print(String title, RdmaConnection connection) {
        out.printf(
                "  %-15s %s, from %s through %s%n",
                title,
                Addresses.text(connection.remoteAddress()),
                Addresses.text(connection.localAddress()),
                connection.id().deviceName());
        out.flush();
    }
}
