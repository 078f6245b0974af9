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

/** Both ends of a stream. */
record StreamPair(VerbsArena arena, RdmaServer server, RdmaConnection client, RdmaConnection accepted)
        implements AutoCloseable {
    static StreamPair open(String from, String to, StreamSizes sizes) throws Exception {
        return open(from, to, connecting(sizes), sizes);
    }

    /** Connects with the options of a client that need not be a stream. */
    static StreamPair open(String from, String to, RdmaConnectionOptions options, StreamSizes sizes) throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        try {
            InetSocketAddress address = Lab.freeAddress(to);
            RdmaServer server = RdmaServer.listen(arena, address);
            options.localAddress(new InetSocketAddress(from, 0));
            CompletableFuture<RdmaConnection> client =
                    Async.start(() -> new RdmaClient(arena).connect(address, options, Lab.SECONDS));
            RdmaConnection accepted = accept(server, sizes);
            return new StreamPair(arena, server, take(Async.get(client)), accepted);
        } catch (Throwable e) {
            arena.close();
            throw e;
        }
    }

    /** Options of a client whose connection gets a stream; see {@link #take}. */
    static RdmaConnectionOptions connecting(StreamSizes sizes) {
        return Stream.options(sizes)
                .prepare(connection -> connection.attach(new Stream(connection, sizes)))
                .privateData(connection -> of(connection).connectionData().toBytes());
    }

    /** Accepts the next client. */
    static RdmaConnection accept(RdmaServer server, StreamSizes sizes) throws Exception {
        ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
        ConnectionData data = ConnectionData.parse(request.privateData());
        return request.accept(
                connecting(sizes).prepare(connection -> {
                    Stream stream = new Stream(connection, sizes);
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
