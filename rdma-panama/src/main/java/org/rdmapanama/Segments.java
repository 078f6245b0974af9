package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.pool.RegisteredBuffer;

/** The scatter/gather list of a work request, an array of {@code struct ibv_sge} that directly follows it in memory. */
final class Segments {
    private static final long SIZE = ibv_sge.sizeof();
    private static final long ADDR = ibv_sge.addr$offset();
    private static final long LENGTH = ibv_sge.length$offset();
    private static final long LKEY = ibv_sge.lkey$offset();
    private static final long MAX_LENGTH = 0xffff_ffffL;

    /** More than any device supports; it keeps a wrong number from allocating gigabytes. */
    private static final int MOST = 0xffff;

    private final MemorySegment workRequest;
    private final long start;
    private final int capacity;
    private final long countField;

    /** Inline data is read when posting, without a check of the region's key, so this keeps the memory alive. */
    private final MemorySegment[] memory;

    /** The addresses of the parts for the device. */
    private final long[] addresses;

    /** The addresses of the parts in this process, which copies inline data itself; 0 if it cannot. */
    private final long[] ownAddresses;

    private final long[] lengths;
    private boolean inline;
    private int count;
    private long totalLength;

    Segments(MemorySegment workRequest, long start, int capacity, long countField) {
        this.workRequest = workRequest;
        this.start = start;
        this.capacity = capacity;
        this.countField = countField;
        memory = new MemorySegment[capacity];
        addresses = new long[capacity];
        ownAddresses = new long[capacity];
        lengths = new long[capacity];
    }

    static int checkCount(int maxSegments) {
        if (maxSegments < 0 || maxSegments > MOST) {
            throw new IllegalArgumentException("maxSegments must be between 0 and " + MOST + ": " + maxSegments);
        }
        return maxSegments;
    }

    static long bytes(int capacity) {
        return capacity * SIZE;
    }

    void add(VerbsArena arena, MemoryRegion region, long offset, long length) {
        if (count == capacity) {
            throw full();
        }
        write(arena, count, region, offset, length);
        count++;
        workRequest.set(JAVA_INT, countField, count);
    }

    void add(VerbsArena arena, MemoryRegion region, MemorySegment slice) {
        checkOpen(arena, region);
        if (count == capacity) {
            throw full();
        }
        long length = checkLength(slice.byteSize());
        MemoryRegion.Registration is = region.registration();
        long address = region.addressOf(is, slice);
        write(count, is.isImplicit() ? slice : is.memory(), address, slice.address(), length, is.lkey());
        count++;
        workRequest.set(JAVA_INT, countField, count);
    }

    void set(VerbsArena arena, int index, MemoryRegion region, long offset, long length) {
        write(arena, Objects.checkIndex(index, count), region, offset, length);
    }

    private IllegalStateException full() {
        return new IllegalStateException("no room for another segment: the request was allocated for " + capacity
                + (capacity == 1 ? " segment" : " segments") + "; allocate it with a larger maxSegments");
    }

    private static void checkOpen(VerbsArena arena, MemoryRegion region) {
        if (region.arena != arena) {
            throw new IllegalArgumentException(region + " belongs to another arena than the work request");
        }
        region.checkOpen();
    }

    static long checkLength(long length) {
        if (length > MAX_LENGTH) {
            throw new IndexOutOfBoundsException(
                    "length must be at most " + MAX_LENGTH + ": " + length + "; add the data as several segments");
        }
        return length;
    }

    /** Returns the offset, after checking that the range lies within something that has a size in bytes. */
    static long checkRange(long offset, long length, long byteSize, Object whole) {
        if (offset < 0 || length < 0 || length > byteSize - offset) {
            throw new IndexOutOfBoundsException(
                    "the range of " + length + " bytes at offset " + offset + " must lie within " + whole);
        }
        return offset;
    }

    /** Returns the offset of a part of a buffer in its region, after checking that the buffer contains the part. */
    static long offsetOf(RegisteredBuffer buffer, long partOffset, long length) {
        // The memory of a closed buffer is refused.
        return buffer.offset() + checkRange(partOffset, length, buffer.memory().byteSize(), buffer);
    }

    private void write(VerbsArena arena, int index, MemoryRegion region, long offset, long length) {
        checkOpen(arena, region);
        checkLength(length);
        // Another thread may change the region meanwhile, so all values must come from one registration.
        MemoryRegion.Registration is = region.registration();
        long address = region.addressOf(is, offset, length);
        MemorySegment own = is.memory();
        write(index, own, address, own == null ? 0 : own.address() + offset, length, is.lkey());
    }

    private void write(int index, @Nullable MemorySegment own, long address, long ownAddress, long length, int lkey) {
        if (inline && ownAddress == 0) {
            throw notInline();
        }
        long at = start + index * SIZE;
        workRequest.set(JAVA_LONG, at + ADDR, inline ? ownAddress : address);
        workRequest.set(JAVA_INT, at + LENGTH, (int) length);
        workRequest.set(JAVA_INT, at + LKEY, lkey);
        memory[index] = own;
        addresses[index] = address;
        ownAddresses[index] = ownAddress;
        totalLength += length - lengths[index];
        lengths[index] = length;
    }

    /** This process copies inline data, so it uses its own addresses and not those of the regions. */
    void inline(boolean on) {
        for (int i = 0; on && i < count; i++) {
            if (ownAddresses[i] == 0) {
                throw notInline();
            }
        }
        inline = on;
        for (int i = 0; i < count; i++) {
            workRequest.set(JAVA_LONG, start + i * SIZE + ADDR, on ? ownAddresses[i] : addresses[i]);
        }
    }

    private static IllegalArgumentException notInline() {
        return new IllegalArgumentException(
                "inline data must be memory of this process; send from this region without inline");
    }

    void clear() {
        count = 0;
        totalLength = 0;
        Arrays.fill(memory, null);
        Arrays.fill(lengths, 0);
        workRequest.set(JAVA_INT, countField, 0);
    }

    int count() {
        return count;
    }

    /** Size of all segments in bytes. */
    long totalLength() {
        return totalLength;
    }

    void checkFits(int maxSegments) {
        checkFits(maxSegments, "QueuePairOptions.maxSegments");
    }

    /**
     * Checks this against the size of a queue.
     *
     * @param option the option that sets the limit, or the place to read it
     */
    void checkFits(int maxSegments, String option) {
        if (count > maxSegments) {
            throw new IllegalArgumentException("work request has " + count + " segments, and the queue takes at most "
                    + maxSegments + "; see " + option);
        }
    }

    @Override
    public String toString() {
        return count + " of " + capacity + " segments";
    }
}
