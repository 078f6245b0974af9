package org.rdmapanama.soft;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Where completion queues tell that something completed: a queue of the addresses of their structures. */
final class SoftCompletionChannel {
    /** Of the C structure. */
    final NativeBlock struct;

    final int number;

    /** How many completion queues tell here. */
    int users;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition told = lock.newCondition();
    private final LongRing events = new LongRing();

    SoftCompletionChannel(NativeBlock struct, int number) {
        this.struct = struct;
        this.number = number;
    }

    void tell(long queue) {
        lock.lock();
        try {
            events.add(queue);
            told.signal();
        } finally {
            lock.unlock();
        }
    }

    /** The next event, or 0 when none comes in time. An interrupt ends the wait early; the caller looks at it. */
    long await(int millis) {
        lock.lock();
        try {
            long left = millis * 1_000_000L;
            while (events.isEmpty() && left > 0) {
                left = told.awaitNanos(left);
            }
            return events.isEmpty() ? 0 : events.remove();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        } finally {
            lock.unlock();
        }
    }

    /** Forgets what a queue that ends has told. */
    void forget(long queue) {
        lock.lock();
        try {
            events.removeAll(queue);
        } finally {
            lock.unlock();
        }
    }
}
