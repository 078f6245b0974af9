package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * A buffer of the client that the server reads or writes, as described by the client's messages.
 *
 * @param address the start address
 * @param rkey the remote key
 * @param size the size in bytes, unsigned
 */
record PingBuffer(long address, int rkey, int size) {
    /** Size of a message; all messages of rping have this size. */
    static final int BYTES = 16;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int RKEY = 8;
    private static final int SIZE = 12;

    static PingBuffer read(MemorySegment message) {
        return new PingBuffer(message.get(LONG, 0), message.get(INT, RKEY), message.get(INT, SIZE));
    }

    void write(MemorySegment message) {
        message.set(LONG, 0, address);
        message.set(INT, RKEY, rkey);
        message.set(INT, SIZE, size);
    }
}
