package org.rdmapanama.soft.connect;

import org.rdmapanama.ffm.internal.SecretNumbers;

/**
 * Remembers requests that were dropped because too many waited at their listener. One that comes again is of a client that
 * waits for an answer, which most of a flood is not, so {@link SoftManagement} lets it wait beyond the backlog. It keeps the
 * last few thousand, in a bounded memory. Callers must hold the lock of the device.
 */
final class DroppedRequests {
    private static final int SLOT_BITS = 14;
    private static final long MIX = 0x9E37_79B9_7F4A_7C15L;

    /** Nobody else knows which requests share a place. */
    private final long secret = SecretNumbers.nextLong();

    private final long[] keys = new long[1 << SLOT_BITS];

    /** Takes note of a request that finds no room. Returns whether it has been dropped before. */
    boolean add(SoftManagement.Request request) {
        long key = (request.hashCode() ^ secret) * MIX;
        int place = (int) (key >>> (Long.SIZE - SLOT_BITS));
        boolean known = keys[place] == key;
        keys[place] = key;
        return known;
    }
}
