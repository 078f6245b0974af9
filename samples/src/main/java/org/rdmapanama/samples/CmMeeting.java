package org.rdmapanama.samples;

import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Consumer;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;

/**
 * Connects by address, through the connection manager. Each side names its protocol in the private data, so that
 * neither mistakes another kind of program for its peer.
 */
final class CmMeeting implements Meeting {
    /** The private data that both sides send. */
    static final String PROTOCOL = "rdma-panama transfer 2";

    /** The status of a rejection by the server's program; every other status comes from its connection manager. */
    private static final int REJECTED_BY_PROGRAM = 28;

    /** The call that fails if the kernel has no connection manager. */
    private static final String NO_CONNECTION_MANAGER = "rdma_create_event_channel";

    private static final String REFUSED = "ECONNREFUSED";

    /** The call that fails if a host has no device: a software device exists only while a program has it open. */
    private static final String CONNECT = "rdma_connect";

    private static final String UNREACHABLE = "EHOSTUNREACH";

    private final InetSocketAddress server;
    private final InetSocketAddress source;
    private final Duration timeout;
    private final PrintWriter out;
    private final Consumer<String> notes;

    /**
     * Creates a meeting between two addresses.
     *
     * @param server where the server listens
     * @param source where the client connects from; null for any
     * @param timeout how long the peer may stay silent
     * @param out receives information about the connection
     * @param notes receives warnings: what is unexpected, but not a failure
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

    private static RdmaConnectionOptions options(TransferLink link) {
        return new RdmaConnectionOptions()
                .sendWorkRequests(link.sendWorkRequests())
                .receiveWorkRequests(TransferLink.RECEIVES)
                .completionEvents(true)
                .privateData(bytes(PROTOCOL))
                .prepare(made -> link.prepare(new CmConnection(made, true)));
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Decodes private data, which RoCE and InfiniBand pad with zeros. */
    static String text(byte... privateData) {
        return new String(privateData, StandardCharsets.US_ASCII).replace("\0", "");
    }

    @Override
    public TransferConnection connect(VerbsArena arena, TransferLink link) throws InterruptedException {
        Patience patience = new Patience(
                timeout, () -> notes.accept("no server is listening at " + Addresses.text(server) + " yet, retrying"));
        while (true) {
            try {
                return connectOnce(arena, link);
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

    private CmConnection connectOnce(VerbsArena arena, TransferLink link) throws InterruptedException {
        RdmaConnectionOptions options = options(link).localAddress(source);
        CmConnection connection = new CmConnection(new RdmaClient(arena).connect(server, options, timeout), true);
        if (!text(connection.connection().privateData()).equals(PROTOCOL)) {
            connection.close();
            throw new Failure("the program listening at " + Addresses.text(server)
                    + " is not an 'rdma serve' of this version: check address and port");
        }
        print("connected:", connection.connection());
        return connection;
    }

    private static boolean nobodyListens(ConnectionException e) {
        boolean refused = e.errnoName().equals(REFUSED) && e.status() != REJECTED_BY_PROGRAM;
        boolean deviceless = e.errnoName().equals(UNREACHABLE) && e.verb().equals(CONNECT);
        return (refused || deviceless) && reason(e).isEmpty();
    }

    /** What the rejecting program said, if anything. */
    private static String reason(ConnectionException e) {
        return e instanceof RejectedException rejected ? text(rejected.privateData()) : "";
    }

    private Failure failure(ConnectionException e) {
        String there = Addresses.text(server);
        if (nobodyListens(e)) {
            return new Failure(
                    "cannot connect to " + there + ": no server is listening there; start 'rdma serve' there first, and"
                            + " check address and port",
                    e);
        }
        if (!e.errnoName().equals(REFUSED)) {
            return new Failure(
                    "cannot connect to " + there + " (" + e.getMessage()
                            + "): give the address of an RDMA port, or --tcp on both sides to meet over TCP",
                    e);
        }
        String reason = reason(e);
        return new Failure(
                "the program at " + there + " rejected the connection" + (reason.isEmpty() ? "" : ": " + reason), e);
    }

    @Override
    public Entrance listen(TransferServer serving) {
        CmEntrance entrance = new CmEntrance(serving, server, notes);
        out.print(SoftAddresses.of(entrance.address()));
        out.println("  waiting for a client at " + Addresses.text(entrance.address()));
        out.flush();
        return entrance;
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
