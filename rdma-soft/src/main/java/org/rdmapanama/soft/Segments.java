package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.soft.wire.Memory;

/** A place within the memory that an array of {@code struct ibv_sge} tells of, in the order of the array. */
final class Segments {
    static final long ADDRESS = ibv_sge.addr$offset();
    static final long LENGTH = ibv_sge.length$offset();
    static final long KEY = ibv_sge.lkey$offset();

    private final SoftDevice device;
    private long list;
    private int left;
    private long offset;

    Segments(SoftDevice device) {
        this.device = device;
    }

    /**
     * How many bytes an array tells of, or -1 when a key does not cover its segment or does not allow what is to be
     * done.
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

    /** How many bytes an array tells of. */
    static long bytes(long list, int count) {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += Integer.toUnsignedLong(Memory.getInt(list + i * SendQueue.SGE_BYTES + LENGTH));
        }
        return bytes;
    }

    /** Begins at a distance from the start of an array that was checked. */
    void start(long newList, int count, long distance) {
        list = newList;
        left = count;
        offset = distance;
        skip();
    }

    /** Leaves segments that are used up. */
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

    /** Where the next byte is. */
    private long place() {
        KeyedMemory memory = device.keys.get(Memory.getInt(list + KEY));
        return Memory.getLong(list + ADDRESS) + memory.shift + offset;
    }

    /** How many bytes follow without a gap. */
    private long run() {
        if (left == 0) {
            // Otherwise it would go on for ever.
            throw new IndexOutOfBoundsException("there are no more bytes in these segments");
        }
        return Integer.toUnsignedLong(Memory.getInt(list + LENGTH)) - offset;
    }

    private void advance(long bytes) {
        offset += bytes;
        skip();
    }

    /** Copies bytes to here. */
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

    /** Copies bytes from here. */
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

    /** Copies bytes from another array's memory to here. */
    void writeFrom(Segments source, long bytes) {
        long rest = bytes;
        while (rest > 0) {
            long now = Math.min(rest, source.run());
            write(source.place(), now);
            source.advance(now);
            rest -= now;
        }
    }
}
