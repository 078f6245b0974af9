package org.rdmapanama.internal.provider;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the address handles that drivers have made. The memory of one that was destroyed can become that of a new one, so what a
 * direct path knows of handles is valid for as long as this number stays the same. Any thread may call this.
 */
public final class AddressHandles {
    private static final AtomicLong MADE = new AtomicLong();

    private AddressHandles() {}

    /** Notes that there is a new one, before the program gets it. */
    public static void noteNew() {
        MADE.getAndIncrement();
    }

    /** Returns how many were made. A thread that has one sees a number that counts it. */
    public static long count() {
        return MADE.getOpaque();
    }
}
