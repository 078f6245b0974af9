package org.rdmapanama.samples.table;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/**
 * Where a table is, and how it is laid out. A server tells it to its clients.
 *
 * @param address where the first slot is
 * @param key the key to read it with
 * @param generation the number of the table, from 1; each one that replaces another has a higher one
 * @param slots how many places a hash can name, a power of two. Behind them are {@code window - 1} further slots
 * @param slotBytes the size of a slot
 * @param window in how many slots from that place a key may be
 * @param seed the seed of the hash
 */
record Geometry(long address, int key, int generation, int slots, int slotBytes, int window, long seed) {
    static final int BYTES = 44;
    static final int MIN_SLOT = 64;
    static final int MAX_SLOT = 64 << 10;
    static final int MAX_WINDOW = 64;
    static final int MAX_SLOTS = 1 << 27;

    /** What one READ may fetch, and what a table may take. */
    static final int MAX_WINDOW_BYTES = 1 << 20;

    static final long MAX_BYTES = 1 << 30;

    /** RDTB. */
    private static final int MAGIC = 0x4254_4452;

    private static final int VERSION = 1;
    private static final int HELLO_BYTES = 8;

    /** Returns what a client says when it asks for a connection. */
    static byte[] hello() {
        return buffer(HELLO_BYTES).array();
    }

    static boolean isHello(byte[] data) {
        return read(data, HELLO_BYTES).isPresent();
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(MAGIC)
                .putInt(VERSION);
    }

    private static Optional<ByteBuffer> read(byte[] data, int bytes) {
        if (data.length < bytes) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        return in.getInt() == MAGIC && in.getInt() == VERSION ? Optional.of(in) : Optional.empty();
    }

    byte[] bytes() {
        return buffer(BYTES)
                .putLong(address)
                .putLong(seed)
                .putInt(key)
                .putInt(generation)
                .putInt(slots)
                .putInt(slotBytes)
                .putInt(window)
                .array();
    }

    /** Reads what a server says, if that is a table that can be. */
    static Optional<Geometry> of(byte[] data) {
        return read(data, BYTES)
                .map(in -> {
                    long address = in.getLong();
                    long seed = in.getLong();
                    return new Geometry(address, in.getInt(), in.getInt(), in.getInt(), in.getInt(), in.getInt(), seed);
                })
                .filter(Geometry::isPossible);
    }

    boolean isPossible() {
        return generation >= 1
                && slots >= 1
                && slots <= MAX_SLOTS
                && Integer.bitCount(slots) == 1
                && slotBytes >= MIN_SLOT
                && slotBytes <= MAX_SLOT
                && slotBytes % Long.BYTES == 0
                && window >= 1
                && window <= MAX_WINDOW
                && windowBytes() <= MAX_WINDOW_BYTES
                && byteSize() <= MAX_BYTES
                && address % Long.BYTES == 0
                && Long.compareUnsigned(address, address + byteSize()) < 0;
    }

    int windowBytes() {
        return window * slotBytes;
    }

    int allSlots() {
        return slots + window - 1;
    }

    long byteSize() {
        return (long) allSlots() * slotBytes;
    }

    /** Returns the bytes that a key and its value may take together. */
    int maxEntry() {
        return slotBytes - Slot.HEADER;
    }

    /** Returns the first slot in which a key with this hash may be. */
    int home(long hash) {
        return (int) (hash & (slots - 1));
    }

    Geometry at(long otherAddress, int otherKey) {
        return new Geometry(otherAddress, otherKey, generation, slots, slotBytes, window, seed);
    }
}
