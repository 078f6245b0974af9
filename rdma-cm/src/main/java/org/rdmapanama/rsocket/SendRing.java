package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;

/**
 * Registered memory that one channel at a time sends from.
 *
 * @param pool where it comes from
 * @param region the region that it is a part of
 * @param at where it begins in the region
 * @param memory the memory
 */
record SendRing(SendRings pool, MemoryRegion region, long at, MemorySegment memory) {
    /** Gives it to other channels. The device must not read it any more. */
    void giveBack() {
        pool.giveBack(this);
    }
}
