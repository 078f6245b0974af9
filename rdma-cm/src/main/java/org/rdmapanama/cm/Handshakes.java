package org.rdmapanama.cm;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Waiting;

/**
 * The clients of a server that are not connected yet, from the arrival of their requests until a caller takes the
 * connection. It keeps account of them and decides which must go; {@link RdmaServer} does what takes time. Threads: any.
 */
final class Handshakes {
    private final int max;
    private final long timeoutNanos;

    /** A handshake that takes longer may be given up for the sake of another client. */
    private final long patienceNanos;

    private final Consumer<Boolean> workTold;
    private final ReentrantLock lock = new ReentrantLock();

    /** Requests that nobody has looked at. Guarded by the lock, as all that follows. */
    private final ArrayDeque<ConnectionRequest> requests = new ArrayDeque<>();

    /** Connections that were accepted and wait for their client, with the time of that; the oldest first. */
    private final Map<RdmaConnection, Long> pending = new LinkedHashMap<>();

    private final ArrayDeque<RdmaConnection> established = new ArrayDeque<>();
    private final ArrayDeque<Failed> failed = new ArrayDeque<>();

    /** Connections that could not be closed, and are closed again with the server. */
    private final List<RdmaConnection> unclosed = new ArrayList<>();

    private boolean closed;

    /** Whether nobody accepts any more, because the device has gone. */
    private boolean stopped;

    /** What was said last of whether there is work. */
    private boolean told;

    /** A connection that will never be established, and why. */
    record Failed(RdmaConnection connection, ConnectionException reason) {}

    /**
     * Creates this for a server.
     *
     * @param workTold is called with whether there is something to do for a caller that accepts, whenever that changes; it
     *     must not wait
     */
    Handshakes(RdmaServerOptions options, Consumer<Boolean> workTold) {
        max = options.maxPending();
        timeoutNanos = Waiting.nanos("handshakeTimeout", options.handshakeTimeout());
        patienceNanos = Waiting.nanos("patience", options.patience());
        this.workTold = workTold;
    }

    /** Needs the lock. Once this is closed nobody accepts any more, while connections may still use the events. */
    private void tell() {
        boolean work = !closed && !stopped && hasWorkNow();
        if (work != told) {
            told = work;
            workTold.accept(work);
        }
    }

    /** Needs the lock. */
    private boolean hasWorkNow() {
        return !requests.isEmpty() || !established.isEmpty() || !failed.isEmpty();
    }

    /** Adds a request, and returns false if there is no room for it. */
    boolean add(ConnectionRequest request) {
        lock.lock();
        try {
            if (closed || (requests.size() + pending.size() >= max && !giveUpOldest())) {
                return false;
            }
            requests.add(request);
            tell();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Needs the lock. */
    private boolean giveUpOldest() {
        Iterator<Map.Entry<RdmaConnection, Long>> all = pending.entrySet().iterator();
        if (!all.hasNext()) {
            return false;
        }
        Map.Entry<RdmaConnection, Long> oldest = all.next();
        if (System.nanoTime() - oldest.getValue() < patienceNanos) {
            return false;
        }
        failed.add(new Failed(oldest.getKey(), timedOut(oldest.getKey(), "to make room for other clients")));
        all.remove();
        return true;
    }

    private static ConnectionException timedOut(RdmaConnection connection, String when) {
        return CmFailures.of("rdma_accept", -Errno.ETIMEDOUT, connection.id() + ", given up " + when);
    }

    /** Returns the next request, or null if there is none. */
    @Nullable
    ConnectionRequest nextRequest() {
        lock.lock();
        try {
            ConnectionRequest next = requests.poll();
            tell();
            return next;
        } finally {
            lock.unlock();
        }
    }

    boolean hasRequest() {
        lock.lock();
        try {
            return closed || !requests.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /** Whether there is something for a caller that accepts, or nothing will come any more. */
    boolean hasWork() {
        lock.lock();
        try {
            return closed || hasWorkNow();
        } finally {
            lock.unlock();
        }
    }

    /** Notes that a connection is about to be accepted; false if the server is closed. */
    boolean begin(RdmaConnection connection) {
        lock.lock();
        try {
            if (!closed) {
                pending.put(connection, System.nanoTime());
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Notes how a handshake ended: the reason of a failure, or null. One that was given up before is left alone. */
    void settle(RdmaConnection connection, @Nullable ConnectionException failure) {
        lock.lock();
        try {
            if (!pending.containsKey(connection)) {
                return;
            }
            if (failure == null) {
                established.add(connection);
            } else {
                failed.add(new Failed(connection, failure));
            }
            pending.remove(connection);
            tell();
        } finally {
            lock.unlock();
        }
    }

    /** Forgets a connection whose accepting failed at once; its caller closes it. */
    void forget(RdmaConnection connection) {
        lock.lock();
        try {
            pending.remove(connection);
        } finally {
            lock.unlock();
        }
    }

    /** Returns an established connection, if there is one. */
    Optional<RdmaConnection> takeEstablished() {
        lock.lock();
        try {
            // Nothing is taken if there is no memory for the result.
            Optional<RdmaConnection> first = Optional.ofNullable(established.peek());
            established.poll();
            tell();
            return first;
        } finally {
            lock.unlock();
        }
    }

    /** Returns one that failed or has taken too long, which the caller closes; null if there is none. */
    @Nullable
    Failed takeFailed() {
        lock.lock();
        try {
            Failed known = failed.poll();
            if (known == null && !pending.isEmpty()) {
                Map.Entry<RdmaConnection, Long> oldest =
                        pending.entrySet().iterator().next();
                if (System.nanoTime() - oldest.getValue() >= timeoutNanos) {
                    String when = "after " + timeoutNanos / 1_000_000 + " ms";
                    known = new Failed(oldest.getKey(), timedOut(oldest.getKey(), when));
                    pending.remove(oldest.getKey());
                }
            }
            tell();
            return known;
        } finally {
            lock.unlock();
        }
    }

    /** Puts back one that could not be closed. */
    void putBack(Failed one) {
        lock.lock();
        try {
            failed.add(one);
            tell();
        } finally {
            lock.unlock();
        }
    }

    /** Keeps one that could not be closed until this is closed. */
    void closeLater(Failed one) {
        lock.lock();
        try {
            unclosed.add(one.connection());
        } finally {
            lock.unlock();
        }
    }

    /** Notes that callers that accept fail from now on: there is no work for them any more. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            tell();
        } finally {
            lock.unlock();
        }
    }

    /** Returns how long a caller may wait without missing that a handshake takes too long, at most the limit. */
    Duration untilNextTimeout(Duration limit) {
        lock.lock();
        try {
            // One that another thread begins meanwhile does not end earlier than after the whole timeout.
            long since = pending.isEmpty()
                    ? 0
                    : System.nanoTime() - pending.values().iterator().next();
            Duration left = Duration.ofNanos(Math.max(0, timeoutNanos - since));
            return left.compareTo(limit) < 0 ? left : limit;
        } finally {
            lock.unlock();
        }
    }

    /** How many clients there are that nobody has taken. */
    int count() {
        lock.lock();
        try {
            return requests.size() + pending.size() + established.size() + failed.size();
        } finally {
            lock.unlock();
        }
    }

    /** Takes no more requests, and returns all connections that nobody will take, for the caller to close. */
    List<RdmaConnection> close() {
        lock.lock();
        try {
            closed = true;
            List<RdmaConnection> all = new ArrayList<>(pending.keySet());
            all.addAll(established);
            failed.forEach(each -> all.add(each.connection()));
            all.addAll(unclosed);
            pending.clear();
            established.clear();
            failed.clear();
            unclosed.clear();
            tell();
            return all;
        } finally {
            lock.unlock();
        }
    }
}
