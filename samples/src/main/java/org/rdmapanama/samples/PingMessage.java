package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** The message of a ping-pong, as the C programs fill and check it. Threads: that of the memory. */
final class PingMessage {
    /** The byte with which the C programs fill their buffers, and the one at the start of every page that they check. */
    private static final byte FILL = 0x7b;

    private static final byte PAGE_MARK = 0;

    static final int PAGE = 4096;

    private final MemorySegment memory;

    /** Fills the memory. */
    PingMessage(MemorySegment memory) {
        this.memory = memory.fill(FILL);
    }

    /** Marks the message for {@link #firstWrongByte}. */
    void mark() {
        for (long offset = 0; offset < memory.byteSize(); offset += PAGE) {
            memory.set(ValueLayout.JAVA_BYTE, offset, PAGE_MARK);
        }
    }

    /** Returns the first position at which the message differs from a marked one, or -1. */
    long firstWrongByte() {
        for (long offset = 0; offset < memory.byteSize(); offset++) {
            byte expected = offset % PAGE == 0 ? PAGE_MARK : FILL;
            if (memory.get(ValueLayout.JAVA_BYTE, offset) != expected) {
                return offset;
            }
        }
        return -1;
    }
}
