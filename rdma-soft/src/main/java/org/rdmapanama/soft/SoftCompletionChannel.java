package org.rdmapanama.soft;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.soft.memory.LongRing;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A completion channel: a queue of the addresses of completion queues that have an event. The device adds events with
 * its lock held; the program waits for them on any thread. A lock of this object guards the queue.
 */
final class SoftCompletionChannel {
    /** The memory of the C structure. */
    final NativeBlock struct;

    final int number;

    /** The number of completion queues that report here. Guarded by the lock of the device. */
    int users;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition told = lock.newCondition();
    private final LongRing events = new LongRing();
    private final TakenEvents taken = new TakenEvents(lock);

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

    /**
     * Waits for the next event, and returns 0 if none comes in time. An interrupt ends the wait early and stays
     * pending. The queue of the event is not freed until the event is {@linkplain #taken acknowledged}.
     */
    long await(int millis) {
        lock.lock();
        try {
            long left = millis * 1_000_000L;
            while (events.isEmpty() && left > 0) {
                left = told.awaitNanos(left);
            }
            if (events.isEmpty()) {
                return 0;
            }
            long queue = events.remove();
            taken.add(queue);
            return queue;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        } finally {
            lock.unlock();
        }
    }

    TakenEvents taken() {
        return taken;
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
