package org.rdmapanama.samples;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;

/**
 * The clients of a ping server. Their handshakes go on side by side in the thread of the server; each that is connected gets
 * a virtual thread.
 *
 * <p>Threads: the one that created it.
 */
final class PingClients implements AutoCloseable {
    /** How many may be in the middle of their handshake, and how many may be connected: each has file descriptors. */
    private static final int MOST = 256;

    /** How often to close those whose handshake has failed. */
    private static final Duration SLICE = Duration.ofSeconds(1);

    /** Serves a client, and closes its link. */
    @FunctionalInterface
    interface Service {
        void serve(PingLink link) throws InterruptedException;
    }

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final RdmaServer server;
    private final Duration timeout;
    private final FewNotes notes;

    /** Those in the middle of their handshake. */
    private final List<PingLink> arriving = new ArrayList<>();

    private final AtomicInteger served = new AtomicInteger();

    /**
     * Starts to listen.
     *
     * @param timeout how long a client may be silent
     * @param notes receives what goes wrong with clients that are not connected yet
     */
    PingClients(InetSocketAddress address, Duration timeout, Consumer<String> notes) {
        this.timeout = timeout;
        this.notes = new FewNotes(notes);
        server = RdmaServer.listen(
                arena,
                address,
                new RdmaServerOptions()
                        .maxPending(MOST)
                        .handshakeTimeout(CmEntrance.handshakeTimeout(timeout))
                        .connections(this::choose)
                        .onFailedHandshake(this::handshakeFailed));
    }

    InetSocketAddress localAddress() {
        return server.localAddress();
    }

    private Optional<RdmaConnectionOptions> choose(ConnectionRequest request) {
        if (served.get() >= MOST) {
            notes.add("rejected " + Addresses.text(request.remoteAddress()) + ": " + MOST + " clients are here");
            return Optional.empty();
        }
        PingLink link = PingLink.awaited(timeout);
        arriving.add(link);
        return Optional.of(link.options(request.id()));
    }

    private void handshakeFailed(VerbsException reason) {
        notes.add("a client left before it was connected (" + reason.getMessage() + ")");
    }

    /**
     * Waits for a client that is connected.
     *
     * @return its link, which the caller closes; null if none came in time
     */
    PingLink next(Duration limit) throws InterruptedException {
        long start = System.nanoTime();
        while (true) {
            Duration left = limit.minusNanos(System.nanoTime() - start);
            if (left.isNegative()) {
                return null;
            }
            try {
                RdmaConnection connection =
                        server.accept(left.compareTo(SLICE) < 0 ? left : SLICE).orElse(null);
                if (connection != null) {
                    PingLink link = (PingLink) connection.attachment();
                    arriving.remove(link);
                    return link;
                }
            } catch (VerbsException e) {
                CmEntrance.checkDevice(e);
                notes.add("cannot connect a client: " + e.getMessage());
            }
            closeFailed();
        }
    }

    private void closeFailed() {
        for (PingLink each : List.copyOf(arriving)) {
            if (each.isLost()) {
                arriving.remove(each);
                each.close();
            }
        }
    }

    /** Serves all clients until the thread is interrupted. A failing client does not disturb the others. */
    void serveAll(Service service, Consumer<Exception> failures) throws InterruptedException {
        ExecutorService threads = Executors.newThreadPerTaskExecutor(
                Thread.ofVirtual().name("client-", 1).factory());
        try {
            while (true) {
                PingLink link = next(LinkOptions.FOR_EVER);
                served.incrementAndGet();
                threads.execute(() -> serve(service, link, failures));
            }
        } finally {
            threads.shutdownNow();
            ServerThreads.awaitEnd(threads);
        }
    }

    private void serve(Service service, PingLink link, Consumer<Exception> failures) {
        try {
            service.serve(link);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Failure | VerbsException | IllegalStateException e) {
            failures.accept(e);
        } finally {
            served.decrementAndGet();
        }
    }

    @Override
    public void close() {
        try (arena) {
            server.close();
            arriving.forEach(PingLink::close);
        }
    }
}
