package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.rdmapanama.ffm.verbs.ibv_sge;

/** The scatter/gather list of a work request, an array of {@code struct ibv_sge} that lies right behind it. */
final class Segments {
    private static final long SIZE = ibv_sge.sizeof();
    private static final long ADDR = ibv_sge.addr$offset();
    private static final long LENGTH = ibv_sge.length$offset();
    private static final long LKEY = ibv_sge.lkey$offset();
    private static final long MAX_LENGTH = 0xffff_ffffL;

    /** More than any device takes: a wrong number should not ask for gigabytes. */
    private static final int MOST = 0xffff;

    private final MemorySegment workRequest;
    private final long start;
    private final int capacity;
    private final long countField;

    /** Inline data is read when posting, which the region's key does not guard: nothing of it may be freed by then. */
    private final MemoryRegion[] regions;

    private final long[] lengths;
    private int count;
    private long totalLength;

    Segments(MemorySegment workRequest, long start, int capacity, long countField) {
        this.workRequest = workRequest;
        this.start = start;
        this.capacity = capacity;
        this.countField = countField;
        regions = new MemoryRegion[capacity];
        lengths = new long[capacity];
    }

    static int checkCount(int maxSegments) {
        if (maxSegments < 0 || maxSegments > MOST) {
            throw new IllegalArgumentException("a work request has 0 to " + MOST + " segments, and not " + maxSegments);
        }
        return maxSegments;
    }

    static long bytes(int capacity) {
        return capacity * SIZE;
    }

    void add(VerbsArena arena, MemoryRegion region, long offset, long length) {
        if (count == capacity) {
            throw new IllegalStateException("this work request was allocated for " + capacity + " segments");
        }
        write(arena, count, region, offset, length);
        count++;
        workRequest.set(JAVA_INT, countField, count);
    }

    void add(VerbsArena arena, MemoryRegion region, MemorySegment slice) {
        if (!slice.isNative()) {
            throw new IllegalArgumentException("a segment on the heap is no slice of " + region);
        }
        add(arena, region, slice.address() - region.address(), slice.byteSize());
    }

    void set(VerbsArena arena, int index, MemoryRegion region, long offset, long length) {
        write(arena, Objects.checkIndex(index, count), region, offset, length);
    }

    private void write(VerbsArena arena, int index, MemoryRegion region, long offset, long length) {
        if (region.arena != arena) {
            throw new IllegalArgumentException(region + " belongs to another arena than the work request");
        }
        region.checkOpen();
        if (length > MAX_LENGTH) {
            throw new IndexOutOfBoundsException("a segment has at most " + MAX_LENGTH + " bytes, not " + length);
        }
        long address = region.addressOf(offset, length);
        long at = start + index * SIZE;
        workRequest.set(JAVA_LONG, at + ADDR, address);
        workRequest.set(JAVA_INT, at + LENGTH, (int) length);
        workRequest.set(JAVA_INT, at + LKEY, region.lkey());
        regions[index] = region;
        totalLength += length - lengths[index];
        lengths[index] = length;
    }

    void clear() {
        count = 0;
        totalLength = 0;
        Arrays.fill(regions, null);
        Arrays.fill(lengths, 0);
        workRequest.set(JAVA_INT, countField, 0);
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
     * @param option where to say, or see, how many a queue takes
     */
    void checkFits(int maxSegments, String option) {
        if (count > maxSegments) {
            throw new IllegalArgumentException("a work request has " + count + " segments, and the queue takes "
                    + maxSegments + ": see " + option);
        }
    }

    @Override
    public String toString() {
        return count + " of " + capacity + " segments";
    }
}
