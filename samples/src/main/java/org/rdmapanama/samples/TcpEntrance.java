package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.VerbsException;
import org.rdmapanama.address.Endpoint;

/**
 * Lets clients in that exchange endpoints over TCP. A virtual thread for each waits for what it says; queue pairs are made
 * and connected in the thread of the server.
 */
final class TcpEntrance implements Entrance {
    /** How many clients may be in the middle of the exchange; each has a file descriptor. */
    private static final int EXCHANGES = 256;

    private final TransferServer server;
    private final LinkOptions options;
    private final EndpointExchange.Listener listener;
    private final Semaphore free = new Semaphore(EXCHANGES);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** Used by the thread of the server. */
    private final Queue<ServedTransfer> arrived = new ArrayDeque<>();

    /** A client whose queue pair is connected on this side, and what to tell it. */
    private record Met(ServedTransfer client, Endpoint local) {}

    TcpEntrance(TransferServer server, LinkOptions options, EndpointExchange.Listener listener) {
        this.server = server;
        this.options = options;
        this.listener = listener;
        threads.execute(this::listen);
    }

    private void listen() {
        try {
            while (true) {
                free.acquire();
                EndpointExchange exchange = listener.accept(LinkOptions.FOR_EVER, options.timeout());
                threads.execute(() -> greet(exchange));
            }
        } catch (InterruptedException | ClosedByInterruptException e) {
            // This is closed.
        } catch (IOException e) {
            server.execute(() -> {
                throw e;
            });
        }
    }

    private void greet(EndpointExchange exchange) {
        CompletableFuture<Met> meeting = new CompletableFuture<>();
        try {
            Endpoint asked = exchange.receive();
            server.execute(() -> meet(exchange, asked, meeting));
            Met met = meeting.get();
            exchange.send(met.local);
            exchange.receiveDone();
            server.execute(() -> arrived.add(met.client));
        } catch (InterruptedException | ClosedByInterruptException e) {
            // This is closed, and with it the clients.
        } catch (ExecutionException e) {
            lost(exchange, null, (Exception) e.getCause());
        } catch (Failure | IOException e) {
            lost(exchange, meeting.isDone() ? meeting.join().client : null, e);
        } finally {
            free.release();
        }
    }

    private void meet(EndpointExchange exchange, Endpoint asked, CompletableFuture<Met> meeting) {
        ServedTransfer client = null;
        try {
            if (server.isFull()) {
                throw new Failure(
                        "turned " + exchange.client() + " away: as many clients as --clients allows are here");
            }
            ServedDevice device = server.device(options.device().name(), options::open);
            client = server.create(device, exchange.client());
            TcpConnection connection = new TcpConnection(
                    client.domain(),
                    device.channel(),
                    device.queue(),
                    device.queue(),
                    options.devicePort(),
                    ServedTransfer.SENDS,
                    exchange);
            // The server adapts to the client's endpoint.
            ConnectOptions how =
                    options.connectOptions(null).peer(exchange.peer()).remote(asked);
            Endpoint local = connection.queuePair().localEndpoint(how);
            connection.queuePair().connect(asked);
            client.prepare(connection);
            client.say("connected to " + EndpointText.of(local));
            meeting.complete(new Met(client, local));
        } catch (Failure | VerbsException | IllegalArgumentException e) {
            if (client != null) {
                server.forget(client);
            }
            meeting.completeExceptionally(e);
        }
    }

    private void lost(EndpointExchange exchange, ServedTransfer client, Exception reason) {
        server.execute(() -> {
            exchange.close();
            if (client == null) {
                server.turnedAway(reason);
            } else {
                server.left(client, reason);
            }
        });
    }

    @Override
    public ServedTransfer next() {
        return arrived.poll();
    }

    @Override
    public String nobodyCame() {
        return "no client came to TCP port " + options.port();
    }

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        listener.close();
    }
}
