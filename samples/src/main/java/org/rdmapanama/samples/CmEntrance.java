package org.rdmapanama.samples;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;

/** Lets clients in by address. Their handshakes go on side by side, in the thread of the server. */
final class CmEntrance implements Entrance {
    private static final Duration LONGEST_HANDSHAKE = Duration.ofSeconds(10);

    /** The call that fails once the device of the address has been removed. */
    private static final String REMOVED = "rdma_get_request";

    private final TransferServer server;
    private final RdmaServer listening;
    private final FewNotes notes;

    /** Clients in the middle of their handshake. */
    private final List<ServedTransfer> arriving = new ArrayList<>();

    /** Whether one of them may have failed. */
    private boolean failed;

    CmEntrance(TransferServer server, InetSocketAddress address, Consumer<String> notes) {
        this.server = server;
        this.notes = new FewNotes(notes);
        listening = RdmaServer.listen(
                server.arena(),
                address,
                new RdmaServerOptions()
                        .maxPending(TransferServer.Bounds.HANDSHAKES)
                        .handshakeTimeout(handshakeTimeout(server.timeout()))
                        .connections(this::choose)
                        .onFailedHandshake(this::handshakeFailed));
        server.listen(listening.channel());
    }

    /** Returns how long a handshake may take, of a client that may be silent for so long once it is connected. */
    static Duration handshakeTimeout(Duration timeout) {
        return timeout.compareTo(LONGEST_HANDSHAKE) < 0 ? timeout : LONGEST_HANDSHAKE;
    }

    /** Throws a failure to accept a client if no other client can come, because the device has been removed. */
    static void checkDevice(VerbsException failure) {
        if (failure.verb().equals(REMOVED)) {
            throw failure;
        }
    }

    InetSocketAddress address() {
        return listening.localAddress();
    }

    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        String name = Addresses.text(request.remoteAddress());
        if (!CmMeeting.text(request.privateData()).equals(CmMeeting.PROTOCOL)) {
            notes.add("rejected " + name + ": it is not an 'rdma transfer' of this version");
            return turnAway(request, "only 'rdma transfer' is served here");
        }
        if (server.isFull()) {
            notes.add("rejected " + name + ": as many clients as --clients allows are here");
            return turnAway(request, "the server is full, try again later");
        }
        ServedDevice device =
                server.device(request.id().deviceName(), arena -> request.id().openContext(arena));
        ServedTransfer client = server.create(device, name);
        arriving.add(client);
        return Optional.of(new RdmaConnectionOptions()
                .protectionDomain(client.domain())
                .completionQueue(device.queue())
                .sendWorkRequests(ServedTransfer.SENDS)
                .receiveWorkRequests(ServedTransfer.RECEIVES)
                .privateData(CmMeeting.bytes(CmMeeting.PROTOCOL))
                .prepare(made -> {
                    made.attach(client);
                    client.prepare(new CmConnection(made, false));
                }));
    }

    private static Optional<RdmaConnectionOptions> turnAway(ConnectionRequest request, String why) {
        try {
            request.reject(CmMeeting.bytes(why));
        } catch (ConnectionException e) {
            // The client has already gone.
        }
        return Optional.empty();
    }

    private void handshakeFailed(VerbsException reason) {
        failed = true;
        notes.add("a client left before it was connected (" + reason.getMessage() + ")");
    }

    @Override
    public ServedTransfer next() throws InterruptedException {
        try {
            while (true) {
                RdmaConnection connection = listening.accept(Duration.ZERO).orElse(null);
                if (connection == null) {
                    forgetEnded();
                    return null;
                }
                ServedTransfer client = (ServedTransfer) connection.attachment();
                arriving.remove(client);
                // It may have been turned out for what it sent as soon as it could.
                if (!client.isLost()) {
                    client.say("connected to " + Addresses.text(connection.localAddress()) + " through "
                            + connection.id().deviceName());
                    return client;
                }
            }
        } catch (VerbsException e) {
            checkDevice(e);
            // For lack of something that the next client may find again.
            failed = true;
            notes.add("cannot connect a client: " + e.getMessage());
            return null;
        } finally {
            forgetFailed();
        }
    }

    /** Each transfer looks for its end itself; the channel stays ready while one has not been taken. */
    private void forgetEnded() {
        RdmaConnection ended;
        do {
            ended = listening.nextEnded();
        } while (ended != null);
    }

    private void forgetFailed() {
        if (failed) {
            failed = false;
            for (ServedTransfer each : List.copyOf(arriving)) {
                if (each.isLost()) {
                    arriving.remove(each);
                    server.forget(each);
                }
            }
        }
    }

    @Override
    public String nobodyCame() {
        return "no client came to " + Addresses.text(address());
    }

    @Override
    public void close() {
        listening.close();
        arriving.forEach(server::forget);
    }
}
