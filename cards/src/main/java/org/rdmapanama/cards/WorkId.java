package org.rdmapanama.cards;

/**
 * What a card notes in the identifier of a work request that it posts to soft0, and finds in its completion: the number of
 * the request in its ring, its opcode, and whether it receives.
 */
final class WorkId {
    private static final int OPCODE_SHIFT = 16;
    private static final long RECEIVE = 1L << 63;
    private static final long SILENT = 1L << 32;

    private WorkId() {}

    static long send(int opcode, int counter) {
        return ((long) opcode << OPCODE_SHIFT) | (counter & 0xffff);
    }

    static long receive(int counter) {
        return RECEIVE | send(0, counter);
    }

    /** Returns the identifier for a request that completes for the card only, unless it fails. */
    static long silent(long id) {
        return id | SILENT;
    }

    static boolean isSilent(long id) {
        return (id & SILENT) != 0;
    }

    static boolean isReceive(long id) {
        return id < 0;
    }

    static int opcode(long id) {
        return (int) (id >>> OPCODE_SHIFT) & 0xff;
    }

    static int counter(long id) {
        return (int) id & 0xffff;
    }
}
