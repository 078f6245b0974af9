package org.rdmapanama.samples.table;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A number as bytes, little endian. */
final class Bytes {
    private Bytes() {}

    static byte[] of(long value) {
        return ByteBuffer.allocate(Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(value)
                .array();
    }

    static long toLong(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }
}
