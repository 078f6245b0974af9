package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.ConnectionRequest;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;

/**
 * A node that follows a primary. The primary writes records and the commit index into its file by RDMA, which takes no time of
 * this process; a thread looks at the memory, and hands committed records to a consumer. It also answers primaries, catches up,
 * and writes to the disk what must be there.
 *
 * <p>Threads: any may close it.
 */
final class Replica implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(Replica.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    /** How often it looks for primaries, and whether the connection is up. */
    private static final long TICK_NANOS = 1_000_000;

    /** How long it polls after the last change if the primary waits for it, and how long it sleeps otherwise. */
    private static final long SPIN_NANOS = 100_000;

    private static final long PAUSE_NANOS = 200_000;
    private static final long WARNING_NANOS = 5_000_000_000L;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final LogFile file;
    private final Regions regions;
    private final RdmaServer server;
    private final Consumer<LogRecord> consumer;
    private final Thread thread;
    private volatile boolean closed;

    /** The thread's own: the connection to the primary, null if there is none. */
    private Session session;

    private long applied;
    private long nextWarning;

    /** What is known of the primary that this follows. */
    private static final class Session {
        private final Wire wire;
        private final Greeting.Request primary;
        private boolean joined;
        private long durable;
        private long posted;

        Session(Wire wire, Greeting.Request primary) {
            this.wire = wire;
            this.primary = primary;
        }
    }

    private Replica(Path path, long capacity, InetSocketAddress address, Consumer<LogRecord> consumer)
            throws IOException {
        this.consumer = consumer;
        LogFile opened = null;
        try {
            opened = LogFile.open(path, capacity, arena);
            file = opened;
            regions = new Regions(file.memory());
            server = RdmaServer.listen(arena, address);
        } catch (IOException | RuntimeException | Error e) {
            arena.close();
            if (opened != null) {
                opened.close();
            }
            throw e;
        }
        thread = Thread.ofPlatform().daemon().name("log-replica").unstarted(this::run);
    }

    /**
     * Starts a replica.
     *
     * @param path its file
     * @param capacity the size of the file if it is made; 0 if it must exist
     * @param address where it waits for primaries
     * @param consumer gets each committed record in order, from the first one, in a thread of the replica
     * @return the replica
     */
    static Replica start(Path path, long capacity, InetSocketAddress address, Consumer<LogRecord> consumer)
            throws IOException {
        Replica replica = new Replica(path, capacity, address, consumer);
        replica.thread.start();
        return replica;
    }

    InetSocketAddress address() {
        return server.localAddress();
    }

    LogFile file() {
        return file;
    }

    /** Says it now and then only: a primary that cannot be followed comes again and again. */
    private void warn(RuntimeException reason) {
        long now = System.nanoTime();
        if (nextWarning == 0 || now - nextWarning > 0) {
            LOG.warn("{}: the connection to the primary ends: {}", file.path(), reason.getMessage());
            nextWarning = now + WARNING_NANOS;
        }
    }

    /** Waits until this has ended; that happens by itself only if the device is gone. */
    void awaitEnd(Duration timeout) throws InterruptedException {
        thread.join(timeout);
    }

    private void run() {
        long nextTick = System.nanoTime();
        long lastChange = nextTick;
        while (!closed) {
            try {
                long now = System.nanoTime();
                if (now - nextTick >= 0) {
                    tick();
                    nextTick = now + TICK_NANOS;
                }
                if (work()) {
                    lastChange = now;
                } else if (isAwaited() && now - lastChange < SPIN_NANOS) {
                    Waits.letOthersRun();
                } else {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            } catch (InterruptedException e) {
                return;
            } catch (RuntimeException e) {
                if (closed || !arena.scope().isAlive()) {
                    return;
                }
                warn(e);
                endSession();
            }
        }
    }

    /** Whether the primary waits for this thread: in memory it has its records without it. */
    private boolean isAwaited() {
        return session != null && (!session.joined || session.primary.durability() == Durability.DISK);
    }

    private void tick() throws InterruptedException {
        Optional<ConnectionRequest> request = server.awaitRequest(Duration.ZERO);
        if (request.isPresent()) {
            answer(request.get());
        }
        if (session != null && !session.wire.connection().isConnected()) {
            endSession();
        }
    }

    private void endSession() {
        if (session != null) {
            Session ended = session;
            session = null;
            ended.wire.connection().close();
        }
    }

    private void answer(ConnectionRequest request) throws InterruptedException {
        Optional<Greeting.Request> read = Greeting.Request.of(request.privateData());
        if (read.isEmpty()) {
            LOG.debug("{} is not from a primary", request);
            request.reject();
            return;
        }
        Greeting.Request primary = read.get();
        long promised = file.promisedTerm();
        if (primary.term() < promised || (primary.term() == promised && primary.primary() != file.promisedPrimary())) {
            request.reject(new Greeting.Rejection(promised).bytes());
            return;
        }
        // Nothing of the former primary can arrive any more, so what is in the file now is what this node has of it.
        endSession();
        if (primary.term() > promised) {
            file.promise(primary.term(), primary.primary());
        }
        file.extend(file.capacity());
        Wire[] wire = new Wire[1];
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .sendWorkRequests(2 * Wire.DEPTH)
                .receiveWorkRequests(1)
                .singleCompletionQueue(true)
                .prepare(connection -> wire[0] = new Wire(connection))
                .privateData(connection -> greet(regions.of(connection.protectionDomain())));
        request.accept(options, TIMEOUT);
        session = new Session(wire[0], primary);
    }

    private byte[] greet(MemoryRegion region) {
        return new Greeting.Answer(
                        file.node(),
                        region.address(),
                        region.rkey(),
                        file.capacity(),
                        file.lastTerm(),
                        file.lastIndex(),
                        file.tail(),
                        file.commitIndex())
                .bytes();
    }

    /** Does what is to be done for the primary and the consumer; returns whether there was anything. */
    private boolean work() throws InterruptedException {
        boolean busy = apply();
        if (session != null && !session.joined) {
            if (session.wire.hasReceived()) {
                join();
                busy = true;
            }
        } else if (session != null) {
            busy |= file.extend(file.capacity()) > 0;
            busy |= session.primary.durability() == Durability.DISK && acknowledge();
        }
        return busy;
    }

    private void join() throws InterruptedException {
        Wire wire = session.wire;
        CatchUp.Source source = CatchUp.Source.of(wire.receive(Duration.ZERO), file.capacity());
        RdmaConnection connection = wire.connection();
        new CatchUp(wire, file, regions.of(connection.protectionDomain()), source, TIMEOUT).run();
        if (session.primary.durability() == Durability.DISK) {
            file.force(0, file.capacity());
        }
        session.durable = file.lastIndex();
        session.joined = true;
        wire.send(ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(file.lastIndex())
                .array());
    }

    /** Writes new records to the disk, and tells the primary. */
    private boolean acknowledge() {
        session.wire.poll();
        long last = file.lastIndex();
        if (last == session.durable || session.posted - session.wire.completed() >= Wire.DEPTH) {
            return false;
        }
        file.force(file.endOf(session.durable), file.endOf(last));
        session.durable = last;
        session.wire.postWord(
                session.primary.wordAddress(),
                session.primary.wordKey(),
                last,
                (int) (++session.posted % Wire.DEPTH),
                session.posted,
                true);
        return true;
    }

    private boolean apply() {
        long committed = Math.min(file.commitIndex(), file.lastIndex());
        boolean any = applied < committed;
        while (applied < committed && !closed) {
            LogRecord record = file.record(applied + 1);
            applied++;
            consumer.accept(record);
        }
        return any;
    }

    /** Ends at any moment and anywhere, as if the process were killed; the file stays as it is. */
    @Override
    public void close() {
        closed = true;
        try {
            server.close();
        } finally {
            Arenas.close(arena);
            file.close();
        }
        Arenas.join(thread);
    }
}
