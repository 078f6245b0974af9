package org.rdmapanama.soft;

import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.soft.memory.LongRing;
import org.rdmapanama.soft.memory.Memory;

/**
 * The queue of asynchronous events of one context, behind ibv_get_async_event(3).
 *
 * <p>The device adds events, usually with its own lock held; the program takes and acknowledges them on any thread,
 * through {@link SoftContext}. A lock of this object guards the queue. It may be taken while the lock of the device is
 * held, never the other way round.
 */
final class AsyncEvents {
    private final ReentrantLock lock = new ReentrantLock();
    private final LongRing events = new LongRing();
    private final ReadySource source = ReadySource.of(this::hasEvent);
    private final TakenEvents taken = new TakenEvents(lock);

    /**
     * Adds an event. The caller may hold other locks.
     *
     * @param type of enum ibv_event_type
     * @param object address of the C structure that the event is about, or 0
     */
    void add(int type, long object) {
        lock.lock();
        try {
            events.add(type);
            events.add(object);
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
     * Takes the next event and writes it to a struct ibv_async_event. The object of the event is not freed until the
     * event is {@linkplain #acknowledge acknowledged}.
     *
     * @return 1, or 0 if there is no event
     */
    int take(long event) {
        lock.lock();
        try {
            if (events.isEmpty()) {
                return 0;
            }
            Memory.putInt(event + ibv_async_event.event_type$offset(), (int) events.remove());
            long object = events.remove();
            Memory.putLong(event + ibv_async_event.element$offset(), object);
            taken.add(object);
            return 1;
        } finally {
            lock.unlock();
        }
    }

    /** Acknowledges a struct ibv_async_event, so that its object can be destroyed. */
    void acknowledge(long event) {
        taken.acknowledge(Memory.getLong(event + ibv_async_event.element$offset()));
    }

    /** Returns the events that were taken and not acknowledged. */
    TakenEvents taken() {
        return taken;
    }

    /** Drops the pending events of an object that is being destroyed. */
    void forget(long object) {
        lock.lock();
        try {
            events.removePairs(object);
        } finally {
            lock.unlock();
        }
    }
}
