package org.rdmapanama.mlx5.direct;

import org.rdmapanama.ffm.internal.ShortLock;

/** The lock of a ring that several threads may use at the same time; it does nothing for one that has a single thread. */
final class RingLock {
    /** Null if only one thread at a time uses the ring. */
    private final ShortLock lock;

    RingLock(boolean shared) {
        lock = shared ? new ShortLock() : null;
    }

    void lock() {
        if (lock != null) {
            lock.lock();
        }
    }

    void unlock() {
        if (lock != null) {
            lock.unlock();
        }
    }
}
