package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;

/**
 * The memory from which the device takes the data of a stream: a ring, which is filled at one end, and freed at the other as
 * writes complete, in their order. Threads: one at a time.
 */
final class SendBuffer {
    private final MemorySegment memory;
    private final int bytes;
    private int at;
    private int free;

    SendBuffer(MemorySegment memory) {
        this.memory = memory;
        bytes = Math.toIntExact(memory.byteSize());
        free = bytes;
    }

    int free() {
        return free;
    }

    /** Where the next data goes. */
    int position() {
        return at;
    }

    /** How many bytes fit between the position and the end of the memory. */
    int untilEnd() {
        return bytes - at;
    }

    /** Copies data to the position, and on from the beginning of the memory where it ends. */
    void put(MemorySegment source, long offset, int length) {
        int first = Math.min(length, untilEnd());
        MemorySegment.copy(source, offset, memory, at, first);
        MemorySegment.copy(source, offset + first, memory, 0, length - first);
        at = (at + length) % bytes;
        free -= length;
    }

    /** Frees the oldest data. */
    void sent(int length) {
        free += length;
    }
}
