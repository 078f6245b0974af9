package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The memory that the peer of a stream has opened to writes of this side: a table, which the peer writes. Each entry has 24
 * bytes: the offset that the peer has chosen, the address, the key and the length.
 *
 * <p>The peer may change an entry at any time, also while it is read. Whatever comes of it, the device writes into memory
 * that the peer names, and nowhere else. Threads: one at a time.
 */
final class PeerMemory {
    /** The size of an entry. */
    static final int BYTES = 24;

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    static final long ADDRESS_AT = Long.BYTES;
    static final long KEY_AT = ADDRESS_AT + Long.BYTES;
    static final long LENGTH_AT = KEY_AT + Integer.BYTES;

    private final MemorySegment table;
    private final int entries;
    private long address;
    private int key;
    private long length;

    PeerMemory(MemorySegment table) {
        this.table = table;
        entries = Math.toIntExact(table.byteSize() / BYTES);
    }

    /**
     * Looks up an offset. The other methods tell what was found.
     *
     * @return whether the peer has opened memory for it
     */
    boolean find(long offset) {
        for (int i = 0; i < entries; i++) {
            long at = (long) i * BYTES;
            long begin = table.get(LONG, at);
            long size = Integer.toUnsignedLong(table.get(INT, at + LENGTH_AT));
            long inside = offset - begin;
            if (inside >= 0 && inside < size) {
                address = table.get(LONG, at + ADDRESS_AT) + inside;
                key = table.get(INT, at + KEY_AT);
                length = size - inside;
                return true;
            }
        }
        return false;
    }

    /** Where to write. */
    long address() {
        return address;
    }

    int key() {
        return key;
    }

    /** How many bytes can be written there, 1 or more. */
    long length() {
        return length;
    }
}
