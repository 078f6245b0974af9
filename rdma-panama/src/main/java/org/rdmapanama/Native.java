package org.rdmapanama;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Views of C structures that a provider owns. */
final class Native {
    private Native() {}

    @SuppressWarnings("restricted")
    static MemorySegment struct(long address, MemoryLayout layout) {
        return MemorySegment.ofAddress(address).reinterpret(layout.byteSize());
    }
}
