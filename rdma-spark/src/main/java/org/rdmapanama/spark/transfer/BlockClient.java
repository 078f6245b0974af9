package org.rdmapanama.spark.transfer;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.event.EventLoop;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;

/**
 * Fetches blocks of other processes from their {@link BlockServer}s. It has a connection to each server, made when it is first
 * needed and closed when it is idle, and one thread for all of them.
 *
 * <p>Threads: any.
 */
public final class BlockClient implements AutoCloseable {
    /** The longest secret, in bytes: a client has room for 56 bytes in all. */
    public static final int MOST_SECRET = 32;

    private static final Logger LOG = LogManager.getLogger(BlockClient.class);
    private static final long PAUSE_NANOS = 100_000_000;

    /** How long a server that has failed is not tried again: this at first, and twice as long each time until it answers. */
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);

    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    /** What is known of a server. The thread of the client uses it. */
    private static final class Server {
        private final InetSocketAddress address;
        private final List<Fetch> beforeConnected = new ArrayList<>();
        private ServerLink link;
        private boolean isConnecting;
        private Duration pause = FIRST_PAUSE;
        private long next = System.nanoTime();
        private String reason = "";

        private Server(InetSocketAddress address) {
            this.address = address;
        }
    }

    private final TransferSettings settings;

    /** How often servers are looked at. */
    private final Duration tick;

    private final byte[] secret;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final RdmaClient client = new RdmaClient(arena);
    private final TransferStatistics statistics = new TransferStatistics();
    private final Map<InetSocketAddress, Server> servers = new HashMap<>();
    private final Map<ProtectionDomain, RegisteredPool> pools = new HashMap<>();
    private final EventLoop loop = new EventLoop();

    /** Those whose connection could not be closed. */
    private final List<ServerLink> unclosed = new ArrayList<>();

    /** What the thread is to do. */
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();

    private final ExecutorService connecting = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("rdma-connect-", 0).factory());
    private final Thread thread =
            Thread.ofPlatform().daemon().name("rdma-fetch").unstarted(this::work);
    private volatile boolean closed;

    /** Whether nothing is fetched any more, so that memory may go when nobody uses it. */
    private volatile boolean hasEnded;

    private boolean isFree;

    private BlockClient(TransferSettings settings, byte[] secret) {
        if (secret.length > MOST_SECRET) {
            throw new IllegalArgumentException(
                    "the secret must have at most " + MOST_SECRET + " bytes: " + secret.length);
        }
        this.settings = settings;
        tick = settings.tick(settings.fetchTimeout());
        this.secret = secret.clone();
    }

    /**
     * Starts a client.
     *
     * @param settings how much memory it has, and how long it waits
     * @param secret what servers want to know
     * @return the client
     * @throws IllegalArgumentException when the secret is too long
     */
    public static BlockClient start(TransferSettings settings, byte[] secret) {
        BlockClient started = new BlockClient(settings, secret);
        started.thread.start();
        return started;
    }

    /** {@return what it has done} */
    public TransferStatistics statistics() {
        return statistics;
    }

    /**
     * Fetches blocks. Does not wait.
     *
     * @param server where they are
     * @param blocks the blocks, in the order of their map outputs and partitions, so that neighbours are read together
     * @param listener is told of each of them, by the thread of this client or, if this is closed, by the caller
     */
    public void fetch(InetSocketAddress server, List<BlockRange> blocks, BlockListener listener) {
        List<Fetch> fetches = new ArrayList<>();
        for (int from = 0; from < blocks.size(); from += Messages.MOST_BLOCKS) {
            fetches.add(new Fetch(
                    List.copyOf(blocks.subList(from, Math.min(blocks.size(), from + Messages.MOST_BLOCKS))),
                    listener,
                    this::freeMemory));
        }
        tasks.add(() -> fetches.forEach(each -> fetch(server, each)));
        if (closed) {
            // The thread may have ended before it saw them.
            drain();
        } else {
            loop.wakeup();
        }
    }

    private void work() {
        while (!closed) {
            try {
                workOnce();
            } catch (InterruptedException e) {
                break;
            } catch (RuntimeException | Error e) {
                // All fetches of this process need this thread.
                LOG.warn("blocks are fetched on after: {}", e.getMessage(), e);
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }

    private void workOnce() throws InterruptedException {
        int ready = loop.await(tick);
        for (int i = 0; i < ready; i++) {
            Server server = (Server) loop.attachment(i);
            try {
                CompletionChannel channel = (CompletionChannel) loop.source(i);
                while (channel.await(Duration.ZERO) != null) {
                    server.link.queue().requestNotification(false);
                }
                server.link.progress();
                if (server.link.hasAnswered()) {
                    server.pause = FIRST_PAUSE;
                }
            } catch (RuntimeException | Error e) {
                lose(server, reason(e));
            }
        }
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
        long now = System.nanoTime();
        for (Server each : servers.values()) {
            check(each, now);
        }
    }

    private void check(Server server, long now) {
        if (server.link == null) {
            return;
        }
        if (!server.link.connection().isConnected()) {
            lose(server, "the connection has ended");
        } else if (server.link.isLate(now)) {
            lose(
                    server,
                    "the server has not answered in " + settings.fetchTimeout().toMillis() + " ms");
        } else if (server.link.isIdle(now, settings.idle().toNanos())) {
            LOG.debug("{} is idle, and closed", server.address);
            end(server, "the connection is idle");
        }
    }

    private void lose(Server server, String reason) {
        LOG.warn("blocks of {} come another way for {}: {}", server.address, server.pause, reason);
        server.reason = reason;
        server.next = System.nanoTime() + server.pause.toNanos();
        Duration longer = server.pause.multipliedBy(2);
        server.pause = longer.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : longer;
        end(server, reason);
    }

    private void end(Server server, String reason) {
        ServerLink link = server.link;
        server.link = null;
        if (link != null) {
            try {
                loop.remove(link.connection().completionChannel());
            } finally {
                if (!link.fail(reason)) {
                    unclosed.add(link);
                }
            }
        }
    }

    /** Returns what to tell of a failure. Not all of them have a message. */
    private static String reason(Throwable failure) {
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }

    /** Begins a fetch. Does not throw, because other fetches may wait behind it. */
    private void fetch(InetSocketAddress address, Fetch fetch) {
        Server server = null;
        try {
            server = servers.computeIfAbsent(address, Server::new);
            begin(server, fetch);
        } catch (RuntimeException | Error e) {
            LOG.warn("blocks of {} cannot be fetched", address, e);
            // It may not have come so far that the server's link knows it.
            fetch.fail(reason(e));
            if (server != null && server.link != null) {
                lose(server, reason(e));
            }
        }
    }

    private void begin(Server server, Fetch fetch) {
        if (closed) {
            fetch.fail("this process stops");
        } else if (server.link != null) {
            server.link.fetch(fetch);
        } else if (server.isConnecting) {
            server.beforeConnected.add(fetch);
        } else if (System.nanoTime() - server.next < 0) {
            fetch.fail(server.reason);
        } else {
            server.isConnecting = true;
            server.beforeConnected.add(fetch);
            try {
                connecting.execute(() -> connect(server));
            } catch (RejectedExecutionException e) {
                connected(server, null, "this process stops");
            } catch (RuntimeException | Error e) {
                // Such as that there is no memory for a thread.
                connected(server, null, reason(e));
            }
        }
    }

    /** Connects, in a thread of its own. */
    private void connect(Server server) {
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(ServerLink.SENDS)
                .receiveWorkRequests(BlockServer.DEPTH)
                .singleCompletionQueue(true)
                .completionEvents(true)
                .privateData(Messages.greeting(secret));
        RdmaConnection connection = null;
        String reason = null;
        try {
            connection = client.connect(server.address, options, settings.connectTimeout());
        } catch (InterruptedException e) {
            reason = "this process stops";
        } catch (RuntimeException | Error e) {
            reason = reason(e);
        }
        RdmaConnection made = connection;
        String why = reason;
        tasks.add(() -> connected(server, made, why));
        loop.wakeup();
    }

    private void connected(Server server, RdmaConnection connection, String reason) {
        server.isConnecting = false;
        List<Fetch> waiting = List.copyOf(server.beforeConnected);
        server.beforeConnected.clear();
        if (connection == null) {
            lose(server, reason);
            waiting.forEach(each -> each.fail(reason));
            return;
        }
        try {
            if (!Messages.isGreeting(connection.privateData())) {
                throw new IllegalStateException("the server is of another version");
            }
            server.link = new ServerLink(connection, pool(connection.protectionDomain()), settings, statistics);
            loop.add(connection.completionChannel(), server);
            statistics.connections.increment();
            LOG.info(
                    "blocks of {} are read through {}",
                    server.address,
                    connection.queuePair().context());
        } catch (RuntimeException | Error e) {
            try {
                if (server.link == null) {
                    connection.close();
                }
            } finally {
                lose(server, reason(e));
            }
        } finally {
            waiting.forEach(each -> fetch(server.address, each));
        }
    }

    private RegisteredPool pool(ProtectionDomain domain) {
        return pools.computeIfAbsent(domain, each -> {
            // On iWARP what a read brings is written as a peer writes.
            boolean iwarp = each.context().transportType() == TransportType.IWARP;
            return iwarp
                    ? RegisteredPool.create(
                            each, settings.bufferBytes(), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                    : RegisteredPool.create(each, settings.bufferBytes(), AccessFlag.LOCAL_WRITE);
        });
    }

    /** Runs what is left, when the thread has ended. */
    private synchronized void drain() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** Frees the memory, after the end, when all blocks that have arrived are released. */
    private void freeMemory() {
        if (hasEnded) {
            freeOnce();
        }
    }

    private synchronized void freeOnce() {
        if (!isFree && pools.values().stream().allMatch(each -> each.freeBytes() == each.byteSize())) {
            isFree = true;
            arena.close();
        }
    }

    /** Ends all connections. Blocks that have not arrived are unavailable; those that have stay until they are released. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        connecting.shutdownNow();
        loop.wakeup();
        boolean interrupted = false;
        try {
            thread.join();
            connecting.close();
        } catch (InterruptedException e) {
            interrupted = true;
        }
        drain();
        servers.values().forEach(each -> end(each, "this process stops"));
        unclosed.forEach(each -> each.fail("this process stops"));
        loop.close();
        hasEnded = true;
        freeMemory();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
