package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.MemoryRegion;

/**
 * Registered memory that one channel at a time sends from.
 *
 * @param pool where it comes from
 * @param home what it is a part of
 * @param at where it begins in the region
 * @param memory the memory
 */
record SendRing(SendRings pool, SendRegion home, long at, MemorySegment memory) {
    /** The region that the device knows it by. */
    MemoryRegion region() {
        return home.region();
    }

    /** Gives it to other channels. The device must not read it any more. */
    void giveBack() {
        pool.giveBack(this);
    }
}
