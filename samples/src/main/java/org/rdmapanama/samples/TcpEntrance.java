package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

    /** The oldest one gives way to another client after this time: an exchange takes milliseconds. */
    private static final long GIVING_WAY_NANOS = 1_000_000_000L;

    private static final long LOOK_MILLIS = 20;

    private final TransferServer server;
    private final LinkOptions options;
    private final EndpointExchange.Listener listener;
    private final Semaphore free = new Semaphore(EXCHANGES);

    /** The clients that are in the middle of it, the oldest first. */
    private final Queue<Pending> pending = new ConcurrentLinkedQueue<>();

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** Used by the thread of the server. */
    private final Queue<ServedTransfer> arrived = new ArrayDeque<>();

    /** A client in the middle of the exchange. */
    private static final class Pending {
        final EndpointExchange exchange;
        final long since = System.nanoTime();
        volatile boolean gaveWay;

        Pending(EndpointExchange exchange) {
            this.exchange = exchange;
        }
    }

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
                Pending next = new Pending(listener.accept(LinkOptions.FOR_EVER, options.timeout()));
                // One for each that comes, also if it takes a while until it has gone.
                boolean gaveWay = false;
                while (!free.tryAcquire(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                    gaveWay = gaveWay || oldestGivesWay();
                }
                pending.add(next);
                threads.execute(() -> greet(next));
            }
        } catch (InterruptedException | ClosedByInterruptException e) {
            // This is closed.
        } catch (IOException e) {
            server.execute(() -> {
                throw e;
            });
        }
    }

    /** So clients that stall hold up others for a second, and not for as long as each of them may take. */
    private boolean oldestGivesWay() throws IOException {
        Pending oldest = pending.peek();
        if (oldest == null || System.nanoTime() - oldest.since <= GIVING_WAY_NANOS) {
            return false;
        }
        pending.remove(oldest);
        oldest.gaveWay = true;
        oldest.exchange.close();
        return true;
    }

    private void greet(Pending entering) {
        EndpointExchange exchange = entering.exchange;
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
            Exception reason = entering.gaveWay
                    ? new Failure("a client that had not finished its exchange gave way to another one, because "
                            + EXCHANGES + " were in the middle of theirs")
                    : e;
            lost(exchange, meeting.isDone() ? meeting.join().client : null, reason);
        } finally {
            pending.remove(entering);
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
