package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Where the data of a stream goes: the two parts of the peer's receive buffer, which it offers in turn by writing into a
 * list in this side's memory.
 *
 * <p>An offer is copied once a message has announced it. What the peer writes later does not change the copy, so that an
 * address always belongs to the key and the length that came with it. Threads: one at a time.
 */
final class Offers {
    private static final ValueLayout.OfLong ADDRESS = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt NUMBER = ValueLayout.JAVA_INT_UNALIGNED;
    private static final long KEY_AT = Long.BYTES;
    private static final long LENGTH_AT = KEY_AT + Integer.BYTES;

    static final long LIST_BYTES = (long) ConnectionData.OFFERS * Offer.BYTES;

    private final MemorySegment list;
    private final long[] addresses = new long[ConnectionData.OFFERS];
    private final int[] keys = new int[ConnectionData.OFFERS];
    private final long[] lengths = new long[ConnectionData.OFFERS];

    /** The place whose space is used. */
    private int using;

    /** The place that the peer fills next: it told the first while connecting. */
    private int filled = 1;

    /**
     * Starts with the space that the peer told while connecting.
     *
     * @param list memory that the peer writes into, {@link #LIST_BYTES} long, zero
     * @param first the space to use first
     */
    Offers(MemorySegment list, Offer first) {
        this.list = list;
        addresses[0] = first.address();
        keys[0] = first.key();
        lengths[0] = first.length();
    }

    /** Takes the next offer, if the peer has written one. Call it after a message that may have announced one. */
    void take() {
        long at = (long) filled * Offer.BYTES;
        long length = Integer.toUnsignedLong(list.get(NUMBER, at + LENGTH_AT));
        if (length == 0 || lengths[filled] != 0) {
            return;
        }
        addresses[filled] = list.get(ADDRESS, at);
        keys[filled] = list.get(NUMBER, at + KEY_AT);
        lengths[filled] = length;
        list.set(NUMBER, at + LENGTH_AT, 0);
        filled = (filled + 1) % ConnectionData.OFFERS;
    }

    /** Returns how many bytes can be written to {@link #address}; 0 if the peer has no space. */
    long length() {
        return lengths[using];
    }

    long address() {
        return addresses[using];
    }

    int key() {
        return keys[using];
    }

    /** Notes that as many bytes have been written. */
    void use(int bytes) {
        addresses[using] += bytes;
        lengths[using] -= bytes;
        if (lengths[using] == 0) {
            using = (using + 1) % ConnectionData.OFFERS;
        }
    }
}
