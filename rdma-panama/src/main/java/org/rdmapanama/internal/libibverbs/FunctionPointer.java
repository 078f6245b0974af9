package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * A function pointer that lies in each structure of a kind, as {@code start_poll} does in {@code struct ibv_cq_ex}.
 *
 * <p>Calls take a function as a memory segment, which a compiler may or may not allocate each time. Structures of one
 * driver mostly hold the same function: the segment of the last one is kept.
 */
final class FunctionPointer {
    private final long offset;

    /** Read and written by any thread: each segment is good for its own address, whichever is seen. */
    private MemorySegment last = MemorySegment.NULL;

    /** At an offset in bytes from the start of the structure. */
    FunctionPointer(long offset) {
        this.offset = offset;
    }

    /** The function of one structure. */
    MemorySegment in(long struct) {
        long function = InlineVerbs.MEMORY.get(JAVA_LONG, struct + offset);
        MemorySegment known = last;
        if (known.address() != function) {
            known = MemorySegment.ofAddress(function);
            last = known;
        }
        return known;
    }

    boolean isNull(long struct) {
        return InlineVerbs.MEMORY.get(JAVA_LONG, struct + offset) == 0;
    }

    /** Where it lies. */
    @Override
    public String toString() {
        return "function pointer at offset " + offset;
    }
}
