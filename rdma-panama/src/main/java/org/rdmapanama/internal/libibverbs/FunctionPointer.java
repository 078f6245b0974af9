package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * A function pointer in each structure of a kind, such as {@code start_poll} does in {@code struct ibv_cq_ex}.
 *
 * <p>Calls take a function as a memory segment, which may be allocated for each call. Structures of one driver usually
 * contain the same function, so the last segment is cached.
 */
final class FunctionPointer {
    private final long offset;

    /**
     * Read and written by any thread without synchronization; any segment that is seen is valid for its own address.
     */
    private MemorySegment last = MemorySegment.NULL;

    /** Creates a pointer at an offset in bytes from the start of the structure. */
    FunctionPointer(long offset) {
        this.offset = offset;
    }

    /** Returns the function of one structure. */
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

    /** Its offset. */
    @Override
    public String toString() {
        return "function pointer at offset " + offset;
    }
}
