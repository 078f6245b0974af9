package org.rdmapanama.internal.provider;

import org.rdmapanama.ffm.internal.ShortLock;

/**
 * The lock of a ring of the {@link DirectPath} that several threads may use at the same time; it does nothing for one that has
 * a single thread.
 */
public final class RingLock {
    /** Null if only one thread at a time uses the ring. */
    private final ShortLock lock;

    /**
     * Creates a lock that is free.
     *
     * @param shared whether several threads may use the ring at the same time
     */
    public RingLock(boolean shared) {
        lock = shared ? new ShortLock() : null;
    }

    /** Takes the lock, where there is one. */
    public void lock() {
        if (lock != null) {
            lock.lock();
        }
    }

    /** Ends {@link #lock}. */
    public void unlock() {
        if (lock != null) {
            lock.unlock();
        }
    }
}
