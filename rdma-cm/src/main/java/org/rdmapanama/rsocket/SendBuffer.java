package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.SendWorkRequest;

/**
 * The memory from which the device takes the data of a stream: a ring, which is filled at one end, and freed at the other as
 * writes complete, in their order. It belongs to the stream while there is something in it, and to the other streams of the
 * device otherwise. Threads: one at a time.
 */
final class SendBuffer {
    private final ProtectionDomain domain;
    private final int bytes;
    private int at;
    private int free;

    /** Null before the first use. */
    private @Nullable SendMemory device;

    /** Null before the first use. */
    private @Nullable SendRings rings;

    /** Null while there is nothing in it. */
    private @Nullable SendRing ring;

    /** Whether there was no ring for the last data. */
    private boolean lacksRing;

    SendBuffer(ProtectionDomain domain, int bytes) {
        this.domain = domain;
        this.bytes = bytes;
        free = bytes;
    }

    int free() {
        return free;
    }

    /** What the channels of the device share. */
    SendMemory device() {
        if (device == null) {
            device = SendMemory.acquire(domain);
        }
        return device;
    }

    /** Whether there was no ring for the last data, because the others are in use and the device refuses more memory. */
    boolean lacksRing() {
        return lacksRing;
    }

    /** Forgets that. */
    void retry() {
        lacksRing = false;
    }

    /**
     * Copies data into the ring, and adds it to a request of up to two segments: it goes on at the beginning of the ring where
     * that ends.
     *
     * @return false if there is no ring at the moment
     * @throws org.rdmapanama.VerbsException when there never is one, because the device refuses the memory
     */
    boolean tryPut(MemorySegment source, long offset, int length, SendWorkRequest request) {
        if (ring == null) {
            if (rings == null) {
                rings = device().rings(bytes);
            }
            ring = rings.tryTake();
            lacksRing = ring == null;
            if (lacksRing) {
                return false;
            }
            at = 0;
        }
        SendRing taken = Objects.requireNonNull(ring);
        MemorySegment memory = taken.memory();
        MemoryRegion region = taken.region();
        int first = Math.min(length, bytes - at);
        try {
            MemorySegment.copy(source, offset, memory, at, first);
            MemorySegment.copy(source, offset + first, memory, 0, length - first);
        } catch (RuntimeException e) {
            // For example because the arena of the source has been closed. A ring without data must not stay here.
            sent(0);
            throw e;
        }
        request.add(region, ring.at() + at, first);
        if (first < length) {
            request.add(region, ring.at(), length - first);
        }
        at = (at + length) % bytes;
        free -= length;
        return true;
    }

    /** Frees the oldest data. */
    void sent(int length) {
        free += length;
        if (free == bytes && ring != null) {
            ring.giveBack();
            ring = null;
        }
    }

    /**
     * Ends all use. Does nothing if it has ended.
     *
     * @param readByDevice whether the device may still read the data: then no other channel gets the memory, and it is freed
     *     with that of all channels of the device
     * @throws org.rdmapanama.VerbsException when this was the last user, and the device refuses to free the memory
     */
    void close(boolean readByDevice) {
        SendRing last = ring;
        SendMemory used = device;
        ring = null;
        rings = null;
        device = null;
        free = 0;
        if (last != null && !readByDevice) {
            last.giveBack();
        }
        if (used != null) {
            used.release();
        }
    }
}
