package org.rdmapanama.rsocket;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.Releasing;
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

    /** In the order in which they were registered. Guarded by the lock. */
    private final List<SendRegion> regions = new ArrayList<>();

    /** No region before this place has a free ring. Guarded by the lock. */
    private int firstFree;

    /** How many rings there are. Guarded by the lock. */
    private int count;

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
    @Nullable
    SendRing tryTake() {
        lock.lock();
        try {
            if (!findFree() && !grow()) {
                return null;
            }
            return regions.get(firstFree).take();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Finds the oldest region with a free ring. Newer ones are used only while there is none, so that they become free as
     * soon as fewer rings do, whichever was given back last. Needs the lock.
     */
    private boolean findFree() {
        while (firstFree < regions.size()) {
            if (regions.get(firstFree).available() > 0) {
                return true;
            }
            firstFree++;
        }
        return false;
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

    /** There must be no free ring. */
    private void add(int more) {
        long stride = stride();
        MemoryRegion region = register(more * stride);
        regions.add(new SendRegion(this, region, more, stride, bytes));
        firstFree = regions.size() - 1;
        count += more;
        if (regions.size() > 1) {
            StreamService.get().repeat(shrinking);
        }
    }

    /** Frees each region whose rings have not been needed for some time, but keeps one region. */
    void shrink() {
        boolean held;
        lock.lock();
        try {
            if (regions.size() < 2) {
                StreamService.get().stop(shrinking);
                return;
            }
            regions.forEach(SendRegion::look);
            held = freeIdle();
        } finally {
            lock.unlock();
        }
        if (held) {
            // Their channels may have sent all long ago, and not have been called since. They take their own lock
            // first.
            StreamService.get().lookAtAll();
        }
    }

    /** Returns whether channels have had rings for as long without taking or giving back any. Needs the lock. */
    private boolean freeIdle() {
        boolean held = false;
        // The first one is the smallest, and most used.
        for (int i = regions.size() - 1; i >= 0 && regions.size() > 1; i--) {
            SendRegion each = regions.get(i);
            if (!each.isIdle(IDLE_LOOKS)) {
                continue;
            }
            if (each.isFree()) {
                regions.remove(i);
                firstFree = 0;
                count -= each.count();
                each.close();
            } else {
                held = true;
                each.restart();
            }
        }
        return held;
    }

    /** One after the other begins at a multiple of the alignment. */
    private long stride() {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** For tests, which refuse it. */
    MemoryRegion register(long size) {
        return RegionMemory.register(domain, size, ALIGNMENT);
    }

    void giveBack(SendRing ring) {
        lock.lock();
        try {
            ring.home().giveBack(ring);
            // It may be of a region that has been closed with the others.
            firstFree = 0;
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
            return regions.stream().mapToInt(SendRegion::available).sum();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Closes the regions: no channel may have a ring, or ask for one.
     *
     * @throws VerbsException when the device refuses it; the other regions are closed all the same
     */
    void close() {
        lock.lock();
        try {
            StreamService.get().stop(shrinking);
            List<SendRegion> all = List.copyOf(regions);
            regions.clear();
            firstFree = 0;
            count = 0;
            Releasing.each(all.stream().map(each -> (AutoCloseable) each::close).toArray(AutoCloseable[]::new));
        } finally {
            lock.unlock();
        }
    }
}
