package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.rdmapanama.memory.RemoteMemory;

/** The messages of rping: each describes a buffer of the client that the server reads or writes. */
final class PingBuffer {
    /** Size of a message; all messages of rping have this size. */
    static final int BYTES = 16;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int RKEY = 8;
    private static final int SIZE = 12;

    private PingBuffer() {}

    static RemoteMemory read(MemorySegment message) {
        return new RemoteMemory(
                message.get(LONG, 0), message.get(INT, RKEY), Integer.toUnsignedLong(message.get(INT, SIZE)));
    }

    /** Writes a buffer of less than 4 GiB. */
    static void write(RemoteMemory buffer, MemorySegment message) {
        message.set(LONG, 0, buffer.address());
        message.set(INT, RKEY, buffer.rkey());
        message.set(INT, SIZE, Math.toIntExact(buffer.length()));
    }
}
