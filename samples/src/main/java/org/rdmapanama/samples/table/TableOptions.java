package org.rdmapanama.samples.table;

import java.time.Duration;

/**
 * How a table is laid out and how far it may grow.
 *
 * @param slots how many places it has at first, a power of two
 * @param maxSlots how many it may have
 * @param slotBytes the size of a slot: 24 bytes more than the longest key with its value
 * @param window in how many neighbouring slots a key may be; a READ fetches all of them
 * @param maxClients how many clients may be connected
 * @param grace for how long clients that do not ask may read a table that was replaced
 */
public record TableOptions(int slots, int maxSlots, int slotBytes, int window, int maxClients, Duration grace) {
    /** The defaults of {@code rdma table serve}. */
    public static final TableOptions DEFAULT = new TableOptions(1 << 10, 1 << 20, 128, 8, 64, Duration.ofSeconds(10));

    /**
     * Checks the options.
     *
     * @throws IllegalArgumentException when there can be no such table
     */
    public TableOptions {
        if (Integer.bitCount(slots) != 1 || slots < 1) {
            throw new IllegalArgumentException("slots must be a power of two, not " + slots);
        }
        if (maxSlots < slots || maxSlots > Geometry.MAX_SLOTS) {
            throw new IllegalArgumentException(
                    "maxSlots must be between " + slots + " and " + Geometry.MAX_SLOTS + ", not " + maxSlots);
        }
        if (slotBytes < Geometry.MIN_SLOT || slotBytes > Geometry.MAX_SLOT || slotBytes % Long.BYTES != 0) {
            throw new IllegalArgumentException("slotBytes must be a multiple of 8 between " + Geometry.MIN_SLOT
                    + " and " + Geometry.MAX_SLOT + ", not " + slotBytes);
        }
        if (window < 1 || window > Geometry.MAX_WINDOW || window * slotBytes > Geometry.MAX_WINDOW_BYTES) {
            throw new IllegalArgumentException("window must be between 1 and "
                    + Math.min(Geometry.MAX_WINDOW, Geometry.MAX_WINDOW_BYTES / slotBytes) + " slots of " + slotBytes
                    + " bytes, not " + window);
        }
        if ((long) maxSlots * slotBytes > Geometry.MAX_BYTES / 2) {
            throw new IllegalArgumentException("maxSlots must be at most "
                    + Geometry.MAX_BYTES / 2 / slotBytes + " with slots of " + slotBytes + " bytes, not "
                    + maxSlots);
        }
        if (maxClients < 1) {
            throw new IllegalArgumentException("maxClients must be at least 1, not " + maxClients);
        }
        if (grace.isNegative()) {
            throw new IllegalArgumentException("grace must not be negative: " + grace);
        }
    }

    Geometry first(long seed) {
        return new Geometry(0, 0, 1, slots, slotBytes, window, seed);
    }
}
