package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;

/** Native objects that no driver made: zeros, but for the context, which is all that libibverbs looks at. */
final class FakeStructs {
    private FakeStructs() {}

    /** The address of one. */
    static long of(Context context, MemoryLayout layout, long contextOffset) {
        MemorySegment struct = context.arena.allocate(layout.byteSize() + 64, 16);
        struct.set(JAVA_LONG, contextOffset, context.address);
        return struct.address();
    }
}
