package org.rdmapanama.internal.libibverbs;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;

/** Views of structures that libibverbs owns. */
final class Structs {
    private Structs() {}

    static MemorySegment at(long address, MemoryLayout layout) {
        return at(address, layout.byteSize());
    }

    static MemorySegment at(long address, long byteSize) {
        return Native.struct(address, byteSize);
    }
}
