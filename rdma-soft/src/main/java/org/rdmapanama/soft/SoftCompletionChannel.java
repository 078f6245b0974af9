package org.rdmapanama.soft;

import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.internal.ReadySource;
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
    private final LongRing events = new LongRing();
    private final ReadySource source;
    private final TakenEvents taken = new TakenEvents(lock);

    /** Creates a channel, whose waiting threads do the work of the device. */
    SoftCompletionChannel(NativeBlock struct, int number, SoftDevice device) {
        source = ReadySource.of(
                this::hasEvent,
                device.wire().descriptor(),
                device.engine::maySleep,
                device.engine::progressForWaiter,
                device.engine::leaveToThread);
        this.struct = struct;
        this.number = number;
    }

    void tell(long queue) {
        lock.lock();
        try {
            events.add(queue);
        } finally {
            lock.unlock();
        }
        source.signal();
    }

    /** What tells of the events. */
    ReadySource source() {
        return source;
    }

    private boolean hasEvent() {
        lock.lock();
        try {
            return !events.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes the next event, or returns 0. The queue of the event is not freed until the event is {@linkplain #taken
     * acknowledged}.
     */
    long take() {
        lock.lock();
        try {
            if (events.isEmpty()) {
                return 0;
            }
            long queue = events.remove();
            taken.add(queue);
            return queue;
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
