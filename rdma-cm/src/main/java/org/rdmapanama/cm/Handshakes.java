package org.rdmapanama.cm;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.internal.Errno;

/**
 * The clients of a server that are not connected yet, from the arrival of their requests until a caller takes the
 * connection. It keeps account of them and decides which must go; {@link RdmaServer} does what takes time. Threads: any.
 */
final class Handshakes {
    private final int max;
    private final Duration timeout;

    /** A handshake that takes longer may be given up for the sake of another client. */
    private final Duration patience;

    private final ReentrantLock lock = new ReentrantLock();

    /** Requests that nobody has looked at. Guarded by the lock, as all that follows. */
    private final ArrayDeque<ConnectionRequest> requests = new ArrayDeque<>();

    /** Connections that were accepted and wait for their client, with the time of that; the oldest first. */
    private final Map<RdmaConnection, Long> pending = new LinkedHashMap<>();

    private final ArrayDeque<RdmaConnection> established = new ArrayDeque<>();
    private final ArrayDeque<Failed> failed = new ArrayDeque<>();
    private boolean closed;

    /** A connection that will never be established, and why. */
    record Failed(RdmaConnection connection, ConnectionException reason) {}

    Handshakes(RdmaServerOptions options) {
        max = options.maxPending();
        timeout = options.handshakeTimeout();
        patience = options.patience();
    }

    /** Adds a request, and returns false if there is no room for it. */
    boolean add(ConnectionRequest request) {
        lock.lock();
        try {
            if (closed || (requests.size() + pending.size() >= max && !giveUpOldest())) {
                return false;
            }
            requests.add(request);
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
        if (System.nanoTime() - oldest.getValue() < patience.toNanos()) {
            return false;
        }
        all.remove();
        failed.add(new Failed(oldest.getKey(), timedOut(oldest.getKey(), "to make room for other clients")));
        return true;
    }

    private ConnectionException timedOut(RdmaConnection connection, String when) {
        return CmFailures.of("rdma_accept", -Errno.ETIMEDOUT, connection.id() + ", given up " + when);
    }

    /** Returns the next request, or null if there is none. */
    ConnectionRequest nextRequest() {
        lock.lock();
        try {
            return requests.poll();
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

    /** Whether there is something for a caller that accepts. */
    boolean hasWork() {
        lock.lock();
        try {
            return closed || !requests.isEmpty() || !established.isEmpty() || !failed.isEmpty();
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
    void settle(RdmaConnection connection, ConnectionException failure) {
        lock.lock();
        try {
            if (pending.remove(connection) == null) {
                return;
            }
            if (failure == null) {
                established.add(connection);
            } else {
                failed.add(new Failed(connection, failure));
            }
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

    /** Returns an established connection, or null if there is none. */
    RdmaConnection takeEstablished() {
        lock.lock();
        try {
            return established.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns one that failed or has taken too long, which the caller closes; null if there is none. */
    Failed takeFailed() {
        lock.lock();
        try {
            Failed known = failed.poll();
            if (known != null || pending.isEmpty()) {
                return known;
            }
            Map.Entry<RdmaConnection, Long> oldest =
                    pending.entrySet().iterator().next();
            if (System.nanoTime() - oldest.getValue() < timeout.toNanos()) {
                return null;
            }
            pending.remove(oldest.getKey());
            return new Failed(oldest.getKey(), timedOut(oldest.getKey(), "after " + timeout.toMillis() + " ms"));
        } finally {
            lock.unlock();
        }
    }

    /** Returns the time until the next handshake has taken too long; the limit if none will before. */
    Duration untilNextTimeout(Duration limit) {
        lock.lock();
        try {
            if (pending.isEmpty()) {
                return limit;
            }
            long since = System.nanoTime() - pending.values().iterator().next();
            Duration left = timeout.minusNanos(since);
            if (left.isNegative()) {
                return Duration.ZERO;
            }
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
            pending.clear();
            established.clear();
            failed.clear();
            return all;
        } finally {
            lock.unlock();
        }
    }
}
