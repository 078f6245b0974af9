package org.rdmapanama.samples.log;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.rdmapanama.VerbsArena;

/**
 * A node that follows a primary. Over RDMA the primary writes records and the commit index into its file, which takes no time of
 * this process; a thread looks at the memory, and hands committed records to a consumer. It also answers primaries, catches up,
 * and writes to the disk what must be there; over TCP it reads all from the connection.
 *
 * <p>Threads: any may close it.
 */
final class Replica implements AutoCloseable {
    private static final Logger LOG = LogManager.getLogger(Replica.class);

    /** How often it looks for primaries, and whether the connection is up. */
    private static final long TICK_NANOS = 1_000_000;

    /** How long it polls after the last change if the primary waits for it: longer than a disk takes. */
    private static final long SPIN_NANOS = 1_000_000;

    /** How long it sleeps otherwise. */
    private static final long PAUSE_NANOS = 200_000;

    private static final long WARNING_NANOS = 5_000_000_000L;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final LogFile file;
    private final Listener listener;
    private final Consumer<LogRecord> consumer;
    private final Thread thread;
    private volatile boolean closed;

    /** The thread's own: the connection to the primary, null if there is none. */
    private Session session;

    private long applied;
    private long nextWarning;

    private Replica(
            LogTransport transport, Path path, long capacity, InetSocketAddress address, Consumer<LogRecord> consumer)
            throws IOException {
        this.consumer = consumer;
        LogFile opened = null;
        try {
            opened = LogFile.open(path, capacity, arena);
            file = opened;
            listener = transport.listen(arena, file, address);
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
     * @param transport that of all nodes
     * @param path its file
     * @param capacity the size of the file if it is made; 0 if it must exist
     * @param address where it waits for primaries
     * @param consumer gets each committed record in order, from the first one, in a thread of the replica
     * @return the replica
     */
    static Replica start(
            LogTransport transport, Path path, long capacity, InetSocketAddress address, Consumer<LogRecord> consumer)
            throws IOException {
        Replica replica = new Replica(transport, path, capacity, address, consumer);
        replica.thread.start();
        return replica;
    }

    InetSocketAddress address() {
        return listener.localAddress();
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
                } else if (session != null && session.isAwaited() && now - lastChange < SPIN_NANOS) {
                    Waits.letOthersRun();
                } else {
                    listener.pause(PAUSE_NANOS);
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

    private void tick() throws InterruptedException {
        Optional<Listener.Caller> caller = listener.poll();
        if (caller.isPresent()) {
            answer(caller.get());
        }
        if (session != null && !session.isUp()) {
            endSession();
        }
    }

    private void endSession() {
        if (session != null) {
            Session ended = session;
            session = null;
            ended.close();
        }
    }

    private void answer(Listener.Caller caller) throws InterruptedException {
        Greeting.Request primary = caller.request();
        long promised = file.promisedTerm();
        if (primary.term() < promised || (primary.term() == promised && primary.primary() != file.promisedPrimary())) {
            caller.reject(new Greeting.Rejection(promised));
            return;
        }
        // Nothing of the former primary can arrive any more, so what is in the file now is what this node has of it.
        endSession();
        if (primary.term() > promised) {
            file.promise(primary.term(), primary.primary());
        }
        file.extend(file.capacity());
        session = caller.accept();
    }

    /** Does what is to be done for the primary and the consumer; returns whether there was anything. */
    private boolean work() throws InterruptedException {
        boolean busy = apply();
        return (session != null && session.work()) || busy;
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
            listener.close();
        } finally {
            Arenas.close(arena);
            file.close();
        }
        Arenas.join(thread);
    }
}
