package org.rdmapanama.samples.collective;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.rdmapanama.MemoryRegion;

/** An array of elements that is registered with the devices of a group. It lives as long as the group. */
final class Vector {
    private final Group group;
    private final ElementType type;
    private final long count;
    private final MemorySegment memory;
    private final MemoryRegion[] regions;

    Vector(Group group, ElementType type, long count, MemorySegment memory, MemoryRegion[] regions) {
        this.group = group;
        this.type = type;
        this.count = count;
        this.memory = memory;
        this.regions = regions;
    }

    ElementType type() {
        return type;
    }

    /** Returns the number of elements. */
    long count() {
        return count;
    }

    /** Returns the elements. Between calls they may be read and written. */
    MemorySegment memory() {
        return memory;
    }

    /** Returns the first elements as a vector of its own, in the same memory. */
    Vector first(long elements) {
        Objects.checkFromToIndex(0, elements, count);
        return new Vector(group, type, elements, memory.asSlice(0, elements * type.bytes()), regions);
    }

    double get(long index) {
        return type.get(memory, index);
    }

    void set(long index, double value) {
        type.set(memory, index, value);
    }

    Group group() {
        return group;
    }

    /** Returns the region for the connection to a rank. */
    MemoryRegion region(int rank) {
        return regions[rank];
    }
}
