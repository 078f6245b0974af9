package org.rdmapanama.internal.libibverbs;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Views of structures that libibverbs owns. */
final class Structs {
    private Structs() {}

    static MemorySegment at(long address, MemoryLayout layout) {
        return at(address, layout.byteSize());
    }

    @SuppressWarnings("restricted")
    static MemorySegment at(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
