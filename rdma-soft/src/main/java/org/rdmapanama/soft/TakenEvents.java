package org.rdmapanama.soft;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.soft.memory.LongRing;

/**
 * The events that a program has taken and not yet acknowledged, by the address of their object. The memory of that
 * object must not be reused before, or the event would seem to be about the next object at that address.
 *
 * <p>{@link AsyncEvents} and {@link SoftCompletionChannel} each have one, guarded by the same lock as their queue.
 */
final class TakenEvents {
    private final ReentrantLock lock;
    private final Condition acknowledged;
    private final LongRing objects = new LongRing();

    /** Creates the set for a queue that the given lock guards. */
    TakenEvents(ReentrantLock lock) {
        this.lock = lock;
        acknowledged = lock.newCondition();
    }

    /** Adds the object of a taken event, until {@link #acknowledge}. Needs the lock. */
    void add(long object) {
        objects.add(object);
    }

    void acknowledge(long object) {
        lock.lock();
        try {
            objects.removeOne(object);
            acknowledged.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until all events of an object are acknowledged; no new ones may come. The caller must not hold any lock.
     */
    void await(long object) {
        lock.lock();
        try {
            while (objects.contains(object)) {
                acknowledged.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }
}
