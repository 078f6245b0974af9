package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.soft.memory.Memory;

/**
 * A cursor over the memory that an array of {@code struct ibv_sge} describes. Requesters and responders each keep one
 * and restart it for every part that they copy. Callers must hold the lock of the device.
 */
final class ScatterGatherCursor {
    static final long ADDRESS = ibv_sge.addr$offset();
    static final long LENGTH = ibv_sge.length$offset();
    static final long KEY = ibv_sge.lkey$offset();

    private final SoftDevice device;
    private long list;
    private int left;
    private long offset;

    ScatterGatherCursor(SoftDevice device) {
        this.device = device;
    }

    /**
     * Checks an array. Returns its size in bytes, or -1 if a key does not cover its segment or does not allow the
     * access.
     */
    static long check(SoftDevice device, int protectionDomain, long list, int count, int access) {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            long each = list + i * SendQueue.SGE_BYTES;
            long length = Integer.toUnsignedLong(Memory.getInt(each + LENGTH));
            if (length == 0) {
                continue;
            }
            KeyedMemory memory = device.keys.get(Memory.getInt(each + KEY));
            if (memory == null
                    || memory.window
                    || !memory.valid
                    || memory.protectionDomain != protectionDomain
                    || !memory.covers(Memory.getLong(each + ADDRESS), length)
                    || !memory.allows(access)) {
                return -1;
            }
            bytes += length;
        }
        return bytes;
    }

    /** Returns the total size of an array, in bytes. */
    static long bytes(long list, int count) {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += Integer.toUnsignedLong(Memory.getInt(list + i * SendQueue.SGE_BYTES + LENGTH));
        }
        return bytes;
    }

    /** Moves the cursor to an offset in an array, which must have been checked. */
    void start(long newList, int count, long distance) {
        list = newList;
        left = count;
        offset = distance;
        skip();
    }

    /** Skips segments that are used up. */
    private void skip() {
        while (left > 0) {
            long length = Integer.toUnsignedLong(Memory.getInt(list + LENGTH));
            if (offset < length) {
                return;
            }
            offset -= length;
            list += SendQueue.SGE_BYTES;
            left--;
        }
    }

    /** Returns the address of the next byte. */
    private long place() {
        KeyedMemory memory = device.keys.get(Memory.getInt(list + KEY));
        return Memory.getLong(list + ADDRESS) + memory.shift + offset;
    }

    /** Returns how many contiguous bytes follow. */
    private long run() {
        if (left == 0) {
            // Otherwise copying would never end.
            throw new IndexOutOfBoundsException("the segments end before the data does");
        }
        return Integer.toUnsignedLong(Memory.getInt(list + LENGTH)) - offset;
    }

    private void advance(long bytes) {
        offset += bytes;
        skip();
    }

    /** Copies bytes from an address to the cursor. */
    void write(long from, long bytes) {
        long source = from;
        long rest = bytes;
        while (rest > 0) {
            long now = Math.min(rest, run());
            Memory.copy(source, place(), now);
            source += now;
            rest -= now;
            advance(now);
        }
    }

    /** Copies bytes from the cursor to an address. */
    void read(long to, long bytes) {
        long target = to;
        long rest = bytes;
        while (rest > 0) {
            long now = Math.min(rest, run());
            Memory.copy(place(), target, now);
            target += now;
            rest -= now;
            advance(now);
        }
    }

    /** Copies bytes from another cursor to this one. */
    void writeFrom(ScatterGatherCursor source, long bytes) {
        long rest = bytes;
        while (rest > 0) {
            long now = Math.min(rest, source.run());
            write(source.place(), now);
            source.advance(now);
            rest -= now;
        }
    }
}
