package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Lab;

/** Both ends of a stream, whose messages are immediate data, or are sends of their own ("apart"), as over iWARP. */
record StreamPair(VerbsArena arena, RdmaServer server, RdmaConnection client, RdmaConnection accepted)
        implements AutoCloseable {
    private static final String IWARP_FIRST = "10.78.0.1";
    private static final String IWARP_SECOND = "10.78.0.2";

    /** The lab has an iWARP device for messages apart; elsewhere one device does either. */
    static String firstHost(boolean apart) {
        return apart && Lab.isInLab() ? IWARP_FIRST : Lab.FIRST_HOST;
    }

    static String secondHost(boolean apart) {
        return apart && Lab.isInLab() ? IWARP_SECOND : Lab.SECOND_HOST;
    }

    static StreamPair open(boolean apart, StreamSizes sizes) throws Exception {
        return open(apart, connecting(sizes, apart), sizes);
    }

    /** Connects with the options of a client that need not be a stream. */
    static StreamPair open(boolean apart, RdmaConnectionOptions options, StreamSizes sizes) throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        try {
            InetSocketAddress address = Lab.freeAddress(secondHost(apart));
            RdmaServer server = RdmaServer.listen(arena, address);
            options.localAddress(new InetSocketAddress(firstHost(apart), 0));
            CompletableFuture<RdmaConnection> client =
                    Async.start(() -> new RdmaClient(arena).connect(address, options, Lab.SECONDS));
            RdmaConnection accepted = accept(server, sizes, apart);
            return new StreamPair(arena, server, take(Async.get(client)), accepted);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    /** Options of a client whose connection gets a stream; see {@link #take}. */
    static RdmaConnectionOptions connecting(StreamSizes sizes, boolean apart) {
        return Stream.options(sizes)
                .prepare(connection -> connection.attach(new Stream(connection, sizes, apart)))
                .privateData(connection -> of(connection).connectionData().toBytes());
    }

    /** Accepts the next client. */
    static RdmaConnection accept(RdmaServer server, StreamSizes sizes, boolean apart) throws Exception {
        ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
        ConnectionData data = ConnectionData.parse(request.privateData());
        return request.accept(
                connecting(sizes, apart).prepare(connection -> {
                    Stream stream = new Stream(connection, sizes, apart);
                    stream.peer(data);
                    connection.attach(stream);
                }),
                Lab.SECONDS);
    }

    private static RdmaConnection take(RdmaConnection client) throws Exception {
        if (client.attachment() != null) {
            of(client).peer(ConnectionData.parse(client.privateData()));
        }
        return client;
    }

    static Stream of(RdmaConnection connection) {
        return (Stream) connection.attachment();
    }

    Stream clientStream() {
        return of(client);
    }

    Stream acceptedStream() {
        return of(accepted);
    }

    @Override
    public void close() {
        for (RdmaConnection each : List.of(client, accepted)) {
            each.close();
            if (of(each) != null) {
                of(each).close(false);
            }
        }
        arena.close();
    }
}
