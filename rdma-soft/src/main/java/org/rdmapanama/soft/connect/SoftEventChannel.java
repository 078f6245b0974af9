package org.rdmapanama.soft.connect;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.rdma_event_channel;
import org.rdmapanama.soft.SoftDevice;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * An event channel: a struct rdma_event_channel without a file descriptor, and the queue of its events. Ids add events
 * with the lock of the device held; {@link SoftConnectionManager} takes them out for the program, on any thread. A lock
 * of this object guards the queue.
 */
final class SoftEventChannel {
    private final NativeBlock struct = new NativeBlock(rdma_event_channel.sizeof());
    private final ReentrantLock lock = new ReentrantLock();
    private final ArrayDeque<SoftCmEvent> events = new ArrayDeque<>();
    private final ReadySource source;

    /** Creates a channel, whose waiting threads do the work of the device. */
    SoftEventChannel(SoftDevice device) {
        source = ReadySource.of(
                this::hasEvent,
                device.wire().descriptor(),
                device.engine::maySleep,
                device.engine::progressForWaiter,
                device.engine::leaveToThread);
        MemorySegment channel = Native.struct(struct.address(), rdma_event_channel.layout());
        rdma_event_channel.fd(channel, -1);
    }

    long address() {
        return struct.address();
    }

    void add(SoftCmEvent event) {
        lock.lock();
        try {
            events.add(event);
        } finally {
            lock.unlock();
        }
        source.signal();
    }

    /** Takes the next event, or returns null. */
    SoftCmEvent poll() {
        lock.lock();
        try {
            return events.poll();
        } finally {
            lock.unlock();
        }
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

    /** Removes and returns the pending events of an id, and the requests to it. */
    List<SoftCmEvent> takeOut(SoftCmId id) {
        List<SoftCmEvent> taken = new ArrayList<>();
        lock.lock();
        try {
            for (Iterator<SoftCmEvent> all = events.iterator(); all.hasNext(); ) {
                SoftCmEvent each = all.next();
                if (each.isAbout(id)) {
                    all.remove();
                    taken.add(each);
                }
            }
            return taken;
        } finally {
            lock.unlock();
        }
    }

    /** Frees the memory; no id and no thread may use the channel any more. */
    void free() {
        for (SoftCmEvent each : events) {
            each.free();
        }
        events.clear();
        struct.free();
    }
}
