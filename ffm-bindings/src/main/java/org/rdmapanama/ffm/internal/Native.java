package org.rdmapanama.ffm.internal;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Creates views of C structures that native code owns. The caller is responsible for addresses and lifetimes. */
public final class Native {
    /**
     * All memory, indexed by address, without any checks: for memory that the caller knows to exist, where creating a
     * view would cost more than the access.
     */
    public static final MemorySegment MEMORY = struct(0, Long.MAX_VALUE);

    private Native() {}

    /**
     * Returns a view of a structure.
     *
     * @param address the address of the structure
     * @param layout the layout
     * @return the view
     */
    public static MemorySegment struct(long address, MemoryLayout layout) {
        return struct(address, layout.byteSize());
    }

    /**
     * Returns a view of a structure.
     *
     * @param address the address of the structure
     * @param byteSize its size in bytes
     * @return the view
     */
    @SuppressWarnings("restricted")
    public static MemorySegment struct(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
