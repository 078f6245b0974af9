package org.rdmapanama.cards;

import org.rdmapanama.soft.memory.Memory;

/**
 * A page of doorbell registers of a ConnectX card, with a mapping of the card's own. A register has two halves, which are used
 * in turn. A half takes the first eight bytes of a work request, or all of it (BlueFlame).
 *
 * <p>A real card sees each store. In memory it sees what is there when it looks, which may be a part of a copy, or a doorbell
 * that has replaced an earlier one. So it takes of a copy only what is the same as the work request in the ring, and clears
 * that, so that no later doorbell completes what is left of it.
 */
final class Mlx5RegisterPage {
    static final int BYTES = 4096;
    static final int REGISTER_BYTES = 512;
    private static final int HALVES = 4;
    private static final int FIRST = 0x800;
    private static final int HALF_BYTES = REGISTER_BYTES / 2;
    private static final int SEGMENT = 16;

    private final int number;

    /** The queue pairs of the work requests that were taken last from the halves. */
    private final int[] takenOf = new int[HALVES];

    /** Where the card sees it, or 0. */
    private long address;

    private Mlx5RegisterPage(int number, long address) {
        this.number = number;
        this.address = address;
    }

    /** Returns a new page that has the given number, or null if there is no memory. */
    static Mlx5RegisterPage allocate(int number) {
        long address = SystemCalls.mapShared(BYTES);
        return address == -1 ? null : new Mlx5RegisterPage(number, address);
    }

    /** Returns where a program sees it, which the program unmaps; or -1. */
    long mapForProgram(long bytes) {
        return SystemCalls.mapAgain(address, bytes);
    }

    /**
     * Takes a work request from the half in which all of it is.
     *
     * @param ring the address of the ring that it is in, too
     * @param offset where it begins in the ring, at whose end it goes on at the start
     * @param bytes its size
     * @return whether there was one
     */
    boolean take(long ring, long ringBytes, long offset, int bytes) {
        if (address == 0 || bytes <= SEGMENT || bytes > HALF_BYTES) {
            return false;
        }
        for (int i = 0; i < HALVES; i++) {
            long half = half(i);
            if (holds(half, ring, ringBytes, offset, bytes)) {
                takenOf[i] = rungIn(half);
                Memory.zero(half, bytes);
                return true;
            }
        }
        return false;
    }

    private long half(int index) {
        return address + FIRST + (long) index * HALF_BYTES;
    }

    /** Returns the number of the register that shows the doorbell of a queue pair, of all pages; -1 if none of this page does. */
    int rungBy(int queuePair) {
        for (int i = 0; address != 0 && i < HALVES; i++) {
            int rung = rungIn(half(i));
            if (queuePair == (rung == 0 ? takenOf[i] : rung)) {
                return (number * HALVES + i) / 2;
            }
        }
        return -1;
    }

    /** Returns the number of the queue pair whose work request begins in a half; 0 if none does. */
    private static int rungIn(long half) {
        // Behind its number there is a count.
        return Memory.getNetInt(half + Integer.BYTES) >>> Byte.SIZE;
    }

    private static boolean holds(long half, long ring, long ringBytes, long offset, int bytes) {
        for (int i = 0; i < bytes; i += Long.BYTES) {
            if (Memory.getLong(half + i) != Memory.getLong(ring + (offset + i) % ringBytes)) {
                return false;
            }
        }
        return true;
    }

    /** Ends the card's mapping; nothing is found here afterwards. */
    void free() {
        SystemCalls.unmap(address, BYTES);
        address = 0;
    }
}
