package org.rdmapanama.soft;

import java.lang.foreign.Arena;

/** Zeroed native memory, such as a C structure or a ring. */
final class NativeBlock {
    private static final int CACHE_LINE = 64;

    private final Arena arena = Arena.ofShared();
    private final long address;

    NativeBlock(long bytes) {
        address = arena.allocate(bytes, CACHE_LINE).address();
    }

    long address() {
        return address;
    }

    /** Gives the memory back: nobody may use its address from now on. */
    void free() {
        arena.close();
    }
}
