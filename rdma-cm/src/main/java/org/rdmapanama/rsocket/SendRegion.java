package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import org.rdmapanama.MemoryRegion;

/** Memory that is registered at once for several {@linkplain SendRings rings}. Threads: one at a time. */
final class SendRegion {
    private final MemoryRegion region;
    private final int count;

    /** The one that was used last is in the caches of the processor. */
    private final ArrayDeque<SendRing> free;

    /** Whether a ring was taken or given back since the last look. */
    private boolean used;

    /** How many looks in a row have found that no ring was taken or given back. */
    private int idleLooks;

    SendRegion(SendRings rings, MemoryRegion region, int count, long stride, int bytes) {
        this.region = region;
        this.count = count;
        free = new ArrayDeque<>(count);
        MemorySegment memory = region.memory();
        for (int i = 0; i < count; i++) {
            free.push(new SendRing(rings, this, i * stride, memory.asSlice(i * stride, bytes)));
        }
    }

    MemoryRegion region() {
        return region;
    }

    /** How many rings it has, in use or not. */
    int count() {
        return count;
    }

    /** How many are not in use. */
    int available() {
        return free.size();
    }

    /** There must be one. */
    SendRing take() {
        used = true;
        return free.pop();
    }

    void giveBack(SendRing ring) {
        used = true;
        free.push(ring);
    }

    /** Looks whether it has been used since the last look. */
    void look() {
        idleLooks = used ? 0 : idleLooks + 1;
        used = false;
    }

    /** Whether nothing has changed in so many looks. */
    boolean isIdle(int looks) {
        return idleLooks >= looks;
    }

    /** Whether no channel has a ring of it. */
    boolean isFree() {
        return free.size() == count;
    }

    /** Begins to count looks again. */
    void restart() {
        idleLooks = 0;
    }

    /** Closes it: no channel may have a ring of it. */
    void close() {
        free.clear();
        if (region.isOpen()) {
            region.close();
        }
    }
}
