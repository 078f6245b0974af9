package org.rdmapanama.soft;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.soft.wire.Memory;

/** What happened to the objects of a context that nobody has asked for yet. */
final class AsyncEvents {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition came = lock.newCondition();
    private final LongRing events = new LongRing();

    /** With any lock held: something happened to an object, or to nothing, 0. */
    void add(int type, long object) {
        lock.lock();
        try {
            events.add(type);
            events.add(object);
            came.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Writes the next one to a struct ibv_async_event: 1, or 0 when none comes in time. An interrupt ends the wait early. */
    int await(long event, int timeoutMillis) {
        lock.lock();
        try {
            long left = timeoutMillis * 1_000_000L;
            while (events.isEmpty() && left > 0) {
                left = came.awaitNanos(left);
            }
            if (events.isEmpty()) {
                return 0;
            }
            Memory.putInt(event + ibv_async_event.event_type$offset(), (int) events.remove());
            Memory.putLong(event + ibv_async_event.element$offset(), events.remove());
            return 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        } finally {
            lock.unlock();
        }
    }

    /** Forgets the events of an object that ends. */
    void forget(long object) {
        lock.lock();
        try {
            events.removePairs(object);
        } finally {
            lock.unlock();
        }
    }
}
