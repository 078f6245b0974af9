package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;

/** A client's copy of the slots in which a key may be, as a READ has brought them. Threads: one at a time. */
final class Window {
    /** The key is not in the table. */
    static final int ABSENT = -1;

    /** A slot was being written. */
    static final int TORN = -2;

    /** Another table has replaced this one. */
    static final int MOVED = -3;

    private final MemorySegment memory;
    private final Geometry geometry;
    private final Slot slot;

    Window(MemorySegment memory, Geometry geometry) {
        this.memory = memory;
        this.geometry = geometry;
        slot = new Slot(memory, geometry.slotBytes(), geometry.generation());
    }

    MemorySegment memory() {
        return memory;
    }

    /** Returns where the slot of a key is, or a negative number that says why there is none. */
    int find(MemorySegment key, long from, int length) {
        int slotBytes = geometry.slotBytes();
        int end = geometry.windowBytes();
        for (int at = 0; at < end; at += slotBytes) {
            if (slot.hasKey(at, key, from, length) && slot.isWhole(at)) {
                return at;
            }
        }
        // Only slots that are whole tell that the key is in none of them.
        boolean torn = false;
        for (int at = 0; at < end; at += slotBytes) {
            if (slot.version(at) == Slot.MOVED) {
                return MOVED;
            }
            torn |= !slot.isWhole(at);
        }
        return torn ? TORN : ABSENT;
    }

    int valueAt(int at) {
        return at + Slot.HEADER + slot.keyLength(at);
    }

    int valueLength(int at) {
        return slot.valueLength(at);
    }
}
