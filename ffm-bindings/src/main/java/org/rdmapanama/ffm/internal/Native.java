package org.rdmapanama.ffm.internal;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Views of C structures that native code owns. */
public final class Native {
    /**
     * All of memory, by addresses. Nothing is looked after: for memory of which the caller knows that it is there, where a
     * view of its own would cost more than the access.
     */
    public static final MemorySegment MEMORY = struct(0, Long.MAX_VALUE);

    private Native() {}

    /**
     * A view of a structure.
     *
     * @param address where it is
     * @param layout its layout
     * @return the view
     */
    public static MemorySegment struct(long address, MemoryLayout layout) {
        return struct(address, layout.byteSize());
    }

    /**
     * A view of a structure.
     *
     * @param address where it is
     * @param byteSize its size in bytes
     * @return the view
     */
    @SuppressWarnings("restricted")
    public static MemorySegment struct(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
