package org.rdmapanama.bench;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.CmEvent;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.PortSpace;

/** Does what cmtime does as a server: accepts every client, and disconnects those that disconnect. */
final class ConnectionRateServer implements AutoCloseable {
    private static final Duration SLICE = Duration.ofSeconds(1);
    private static final Duration TO_CLOSE = Duration.ofSeconds(10);
    private static final int BACKLOG = 1024;

    private final EventChannel channel = EventChannel.create();
    private final CmId listener = channel.createId(PortSpace.TCP);
    private final Thread thread = Thread.ofPlatform().daemon().name("server").unstarted(this::serve);
    private volatile RuntimeException failure;

    private ConnectionRateServer() {}

    static ConnectionRateServer start(InetSocketAddress address) {
        ConnectionRateServer server = new ConnectionRateServer();
        server.listener.bind(address);
        server.listener.listen(BACKLOG);
        server.thread.start();
        return server;
    }

    /** Throws an exception if the server failed. */
    void check() {
        if (failure != null) {
            throw new IllegalStateException("the server failed", failure);
        }
    }

    private void serve() {
        Map<CmId, QueuePair> connections = new HashMap<>();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            QueuePairMaker maker = new QueuePairMaker(listener.openContext(arena));
            while (!Thread.interrupted()) {
                channel.await(SLICE).ifPresent(event -> handle(event, maker, connections));
            }
        } catch (InterruptedException e) {
            // The server is ended by an interrupt.
        } catch (RuntimeException e) {
            failure = e;
        }
    }

    private static void handle(CmEvent event, QueuePairMaker maker, Map<CmId, QueuePair> connections) {
        switch (event.type()) {
            case CONNECT_REQUEST -> {
                QueuePair made = maker.make(event.id());
                connections.put(event.id(), made);
                event.id().accept(made, new ConnectionParameters());
            }
            case DISCONNECTED -> {
                QueuePair gone = connections.remove(event.id());
                event.id().disconnect(gone);
                gone.close();
                event.id().close();
            }
            default -> {
                // Other events, such as that a connection is established, need no action.
            }
        }
    }

    @Override
    public void close() {
        thread.interrupt();
        try {
            thread.join(TO_CLOSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        channel.close();
    }
}
