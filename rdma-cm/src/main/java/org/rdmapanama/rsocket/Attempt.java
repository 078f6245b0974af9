package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;

/**
 * An attempt to connect, which a thread of its own makes: it may take long, and on iWARP it waits inside the kernel.
 *
 * <p>Threads: any.
 */
final class Attempt {
    /** As many attempts go on side by side; further ones wait. */
    private static final int THREADS = 256;

    private static final long IDLE_SECONDS = 5;

    private static final ExecutorService POOL = pool();

    private final InetSocketAddress remote;
    private final Duration timeout;
    private final RdmaConnectionOptions options;
    private final Watchers watchers;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Future<?> task;

    /** Guarded by the lock. */
    private @Nullable StreamLink link;

    /** Guarded by the lock. */
    private @Nullable IOException failure;

    /** Guarded by the lock. */
    private boolean cancelled;

    /**
     * Starts to connect.
     *
     * @param local where to connect from; null for any address
     * @param wanted what the channel has set
     * @param watchers told of the result
     */
    Attempt(
            @Nullable InetSocketAddress local,
            InetSocketAddress remote,
            Options wanted,
            Duration timeout,
            Watchers watchers) {
        this.remote = remote;
        this.timeout = timeout;
        this.watchers = watchers;
        options = StreamLink.options(wanted.sizes(), null).localAddress(local).typeOfService(wanted.typeOfService());
        task = POOL.submit(this::run);
    }

    private static ExecutorService pool() {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                THREADS,
                THREADS,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("rsocket-connect-", 0).factory());
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    private void run() {
        try {
            settle(connect(), null);
        } catch (IOException e) {
            settle(null, e);
        } catch (InterruptedException e) {
            settle(null, new SocketException("connecting to " + remote + " was cancelled"));
        } catch (RuntimeException | Error e) {
            IOException failed = new IOException("cannot connect to " + remote + ": " + e);
            failed.initCause(e);
            settle(null, failed);
        }
    }

    private StreamLink connect() throws IOException, InterruptedException {
        RdmaConnection connection;
        try {
            connection = new RdmaClient(StreamService.get().arena()).connect(remote, options, timeout);
        } catch (VerbsException e) {
            throw SocketErrors.connecting(e, remote);
        }
        StreamLink made = StreamLink.of(connection);
        try {
            made.answered();
            StreamService.get().openedByClient(made);
            return made;
        } catch (ProtocolException | RuntimeException e) {
            StreamService.get().finish(made, true);
            throw e;
        }
    }

    private void settle(@Nullable StreamLink made, @Nullable IOException cause) {
        boolean late;
        lock.lock();
        try {
            late = cancelled;
            if (!late) {
                link = made;
                failure = cause;
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
        if (late && made != null) {
            StreamService.get().finish(made, true);
        } else {
            watchers.tell();
        }
    }

    /** Gives up. A connection that is made nevertheless is closed. */
    void cancel() {
        StreamLink made;
        lock.lock();
        try {
            cancelled = true;
            made = link;
            link = null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        task.cancel(true);
        if (made != null) {
            StreamService.get().finish(made, true);
        }
    }

    /** Whether {@link #result} has something to return or to throw. */
    boolean isDone() {
        lock.lock();
        try {
            return link != null || failure != null;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the result, which from then on belongs to the caller.
     *
     * @param nanos how long to wait for it at most
     * @return the link; null if the time is over, or this was cancelled
     * @throws IOException when connecting has failed
     * @throws InterruptedException when the thread is interrupted
     */
    @Nullable
    StreamLink result(long nanos) throws IOException, InterruptedException {
        long left = nanos;
        lock.lock();
        try {
            while (link == null && failure == null && !cancelled && left > 0) {
                left = changed.awaitNanos(left);
            }
            if (failure != null) {
                throw failure;
            }
            StreamLink made = link;
            link = null;
            return made;
        } finally {
            lock.unlock();
        }
    }
}
