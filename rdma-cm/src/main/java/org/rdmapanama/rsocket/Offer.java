package org.rdmapanama.rsocket;

import java.nio.ByteBuffer;

/**
 * Memory that one side of a stream offers to the other to write into.
 *
 * @param address where it begins, in the address space of the side that offers it
 * @param key its remote key
 * @param length its size, 0 to 4,294,967,295; in bytes, or in entries for the list of offers itself
 */
record Offer(long address, int key, long length) {
    static final int BYTES = Long.BYTES + 2 * Integer.BYTES;

    void writeTo(ByteBuffer bytes) {
        bytes.putLong(address).putInt(key).putInt((int) length);
    }

    static Offer readFrom(ByteBuffer bytes) {
        return new Offer(bytes.getLong(), bytes.getInt(), Integer.toUnsignedLong(bytes.getInt()));
    }
}
