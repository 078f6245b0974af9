package org.rdmapanama;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Views of C structures that a provider owns. */
final class Native {
    private Native() {}

    static MemorySegment struct(long address, MemoryLayout layout) {
        return struct(address, layout.byteSize());
    }

    @SuppressWarnings("restricted")
    static MemorySegment struct(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
