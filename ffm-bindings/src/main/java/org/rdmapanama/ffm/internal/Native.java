package org.rdmapanama.ffm.internal;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Views of C structures that native code owns. */
public final class Native {
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
