package org.rdmapanama.cm;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Context;

/**
 * Connections by the number of their queue pair. A lookup takes no lock, allocates nothing, and takes constant time on
 * average: this is a hash table with open addressing, whose array is replaced as a whole when it gets full.
 *
 * <p>Threads: any.
 */
final class ConnectionTable {
    private static final int SMALLEST = 16;

    /** Spreads consecutive numbers: 2^32 divided by the golden ratio. */
    private static final int SPREAD = 0x9E3779B9;

    /** Where a connection was removed: a lookup goes on behind it. */
    private static final Object REMOVED = new Object();

    private final ReentrantLock lock = new ReentrantLock();
    private volatile AtomicReferenceArray<Object> slots = new AtomicReferenceArray<>(SMALLEST);

    /** Slots that are not empty, with those of removed connections. Guarded by the lock. */
    private int used;

    /** Guarded by the lock. */
    private int size;

    /**
     * Returns a connection.
     *
     * @param device the device of the queue pair; null if the number is enough
     * @return the connection, or null if there is none with this number
     */
    @SuppressWarnings("ReferenceEquality") // contexts are compared by identity
    @Nullable
    RdmaConnection get(@Nullable Context device, int queuePairNumber) {
        AtomicReferenceArray<Object> all = slots;
        int mask = all.length() - 1;
        for (int i = start(queuePairNumber, mask); ; i = (i + 1) & mask) {
            Object slot = all.getAcquire(i);
            if (slot == null) {
                return null;
            }
            if (slot instanceof RdmaConnection connection
                    && connection.number() == queuePairNumber
                    // The number of a closed one may belong to another queue pair already.
                    && connection.queuePair().isOpen()
                    && (device == null || connection.queuePair().context() == device)) {
                return connection;
            }
        }
    }

    private static int start(int number, int mask) {
        return (number * SPREAD) >>> Integer.numberOfLeadingZeros(mask) & mask;
    }

    void add(RdmaConnection connection) {
        lock.lock();
        try {
            // At least a quarter is empty, so that every lookup ends soon.
            if ((used + 1) * 4 > slots.length() * 3) {
                rebuild();
            }
            if (put(slots, connection)) {
                used++;
            }
            size++;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether an empty slot was used up. */
    private static boolean put(AtomicReferenceArray<Object> all, RdmaConnection connection) {
        int mask = all.length() - 1;
        int i = start(connection.number(), mask);
        while (all.getPlain(i) instanceof RdmaConnection) {
            i = (i + 1) & mask;
        }
        boolean empty = all.getPlain(i) == null;
        all.setRelease(i, connection);
        return empty;
    }

    /** Drops the marks of removed connections, and doubles the room until at most half of it is used. */
    private void rebuild() {
        int length = SMALLEST;
        while (length < 2 * (size + 1)) {
            length *= 2;
        }
        AtomicReferenceArray<Object> larger = new AtomicReferenceArray<>(length);
        for (int i = 0; i < slots.length(); i++) {
            if (slots.getPlain(i) instanceof RdmaConnection connection) {
                put(larger, connection);
            }
        }
        used = size;
        slots = larger;
    }

    /** Removes a connection; nothing happens if it is not here. */
    @SuppressWarnings("ReferenceEquality") // connections are compared by identity
    void remove(RdmaConnection connection) {
        lock.lock();
        try {
            int mask = slots.length() - 1;
            for (int i = start(connection.number(), mask); slots.getPlain(i) != null; i = (i + 1) & mask) {
                if (slots.getPlain(i) == connection) {
                    slots.setRelease(i, REMOVED);
                    size--;
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns all connections at this moment. */
    List<RdmaConnection> all() {
        lock.lock();
        try {
            List<RdmaConnection> all = new ArrayList<>(size);
            for (int i = 0; i < slots.length(); i++) {
                if (slots.getPlain(i) instanceof RdmaConnection connection) {
                    all.add(connection);
                }
            }
            return all;
        } finally {
            lock.unlock();
        }
    }

    int size() {
        lock.lock();
        try {
            return size;
        } finally {
            lock.unlock();
        }
    }
}
