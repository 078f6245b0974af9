package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsException;
import org.rdmapanama.internal.provider.RegionMemory;

/**
 * The rings of one size that the channels of a device send from. A channel has one only while the device reads from it, so
 * that there are as many as channels have sent at the same time, and not as many as there are channels. What nobody has needed
 * for a while is freed.
 *
 * <p>Threads: any.
 */
class SendRings {
    /** Several small rings are registered at once, up to this size. */
    private static final int MOST_AT_ONCE = 1 << 20;

    private static final long ALIGNMENT = 64;

    /** After so many calls of {@link #shrink}, about ten seconds, memory that was not needed is freed. */
    private static final int IDLE_LOOKS = 40;

    private final ProtectionDomain domain;
    private final int bytes;
    private final ReentrantLock lock = new ReentrantLock();

    /** The one that was used last is in the caches of the processor. Guarded by the lock. */
    private final ArrayDeque<SendRing> free = new ArrayDeque<>();

    /** Guarded by the lock. */
    private final List<MemoryRegion> regions = new ArrayList<>();

    /** How many there are. Guarded by the lock. */
    private int count;

    /** How many were free all the time since the last look. Guarded by the lock. */
    private int spare;

    /** How many looks in a row have found that the last region was not needed. Guarded by the lock. */
    private int idleLooks;

    /** Done now and then while there are several regions. */
    private final Runnable shrinking = this::shrink;

    SendRings(ProtectionDomain domain, int bytes) {
        this.domain = domain;
        this.bytes = bytes;
    }

    /**
     * Returns a ring, which {@link SendRing#giveBack} gives back; null if all are in use and the device refuses more memory.
     *
     * @throws VerbsException when there is none, and the device refuses the memory
     */
    SendRing tryTake() {
        lock.lock();
        try {
            if (free.isEmpty() && !grow()) {
                return null;
            }
            SendRing ring = free.pop();
            spare = Math.min(spare, free.size());
            return ring;
        } finally {
            lock.unlock();
        }
    }

    /** By as many as there are, so that many channels need few regions; or by one. Needs the lock. */
    private boolean grow() {
        int more = Math.clamp(count, 1, Math.max(1, MOST_AT_ONCE / bytes));
        while (true) {
            try {
                add(more);
                return true;
            } catch (VerbsException e) {
                if (count == 0) {
                    throw e;
                }
                if (more == 1) {
                    return false;
                }
                more = 1;
            }
        }
    }

    private void add(int more) {
        long stride = stride();
        MemoryRegion region = register(more * stride);
        regions.add(region);
        MemorySegment memory = region.memory();
        for (int i = 0; i < more; i++) {
            free.push(new SendRing(this, region, i * stride, memory.asSlice(i * stride, bytes)));
        }
        count += more;
        if (regions.size() > 1) {
            StreamService.get().repeat(shrinking);
        }
    }

    /** Frees the last region, once none of its rings has been needed for some time. */
    void shrink() {
        lock.lock();
        try {
            if (regions.size() < 2) {
                StreamService.get().stop(shrinking);
                return;
            }
            MemoryRegion last = regions.getLast();
            int rings = Math.toIntExact(last.byteSize() / stride());
            idleLooks = spare < rings ? 0 : idleLooks + 1;
            spare = free.size();
            // All that are in use may be of this region at the moment.
            if (idleLooks >= IDLE_LOOKS
                    && free.stream().filter(each -> last.equals(each.region())).count() == rings) {
                free.removeIf(each -> last.equals(each.region()));
                regions.removeLast();
                // The next one has its own time to show that it is not needed.
                idleLooks = 0;
                count -= rings;
                spare = free.size();
                close(last);
            }
        } finally {
            lock.unlock();
        }
    }

    /** One after the other begins at a multiple of the alignment. */
    private long stride() {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** For tests, which refuse it. */
    MemoryRegion register(long size) {
        return RegionMemory.register(domain, size, ALIGNMENT);
    }

    private static void close(MemoryRegion region) {
        if (region.isOpen()) {
            region.close();
        }
    }

    /** Closes a region, and returns the first failure of all. */
    private static VerbsException closed(MemoryRegion region, VerbsException first) {
        try {
            close(region);
            return first;
        } catch (VerbsException e) {
            if (first == null) {
                return e;
            }
            first.addSuppressed(e);
            return first;
        }
    }

    void giveBack(SendRing ring) {
        lock.lock();
        try {
            free.push(ring);
        } finally {
            lock.unlock();
        }
    }

    /** How many there are, in use or not. */
    int count() {
        lock.lock();
        try {
            return count;
        } finally {
            lock.unlock();
        }
    }

    /** How many are not in use. */
    int available() {
        lock.lock();
        try {
            return free.size();
        } finally {
            lock.unlock();
        }
    }

    /** Closes the regions: no channel may have a ring, or ask for one. */
    void close() {
        lock.lock();
        try {
            free.clear();
            count = 0;
            StreamService.get().stop(shrinking);
            try {
                VerbsException failure = null;
                for (MemoryRegion each : regions) {
                    failure = closed(each, failure);
                }
                if (failure != null) {
                    throw failure;
                }
            } finally {
                regions.clear();
            }
        } finally {
            lock.unlock();
        }
    }
}
