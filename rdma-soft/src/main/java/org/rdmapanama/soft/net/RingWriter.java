package org.rdmapanama.soft.net;

import org.rdmapanama.soft.memory.Memory;

/**
 * The end of a ring where packets go in. {@link RingReader} says what a ring looks like. The other end belongs to another
 * process, which may write anything into the ring: the only thing that is read from it is how far the reader got.
 *
 * <p>Not thread-safe: {@link RingLink} calls it with the lock of the device held.
 */
final class RingWriter {
    /** What {@link #begin} returns when the reader says that it got where it cannot be. */
    static final long BROKEN = -1;

    private final long ring;
    private final int mask;

    /** Where the reader says how far it got. */
    private final long tail;

    /** The position behind the last packet, in bytes since the beginning. */
    private long head;

    /** How far the reader had got when that was read last. */
    private long seen;

    /** The index of the packet that was begun. */
    private int begun;

    /**
     * Creates the writer of an empty ring.
     *
     * @param ring its address, a multiple of {@link RingReader#LINE}
     * @param bytes its size, a power of two
     * @param tail the address of the position of the reader
     */
    RingWriter(long ring, int bytes, long tail) {
        this.ring = ring;
        this.tail = tail;
        mask = bytes - 1;
    }

    /** Returns where to write the next packet; 0 if there is no room for it; or {@link #BROKEN}. */
    long begin() {
        int index = (int) head & mask;
        int rest = mask + 1 - index;
        begun = rest >= RingReader.MOST_RECORD_BYTES ? index : 0;
        // One line more, for the length behind, which is 0.
        int needed = (begun == index ? 0 : rest) + RingReader.MOST_RECORD_BYTES + RingReader.LINE;
        if (mask + 1 - (head - seen) < needed) {
            long now = Memory.getLongAcquire(tail);
            if (now < seen || now > head || (now & (RingReader.LINE - 1)) != 0) {
                return BROKEN;
            }
            seen = now;
            if (mask + 1 - (head - seen) < needed) {
                return 0;
            }
        }
        return ring + begun + RingReader.HEADER_BYTES;
    }

    /** Hands the packet that was begun last, of so many bytes, to the reader. */
    void send(int bytes) {
        int index = (int) head & mask;
        int record = RingReader.recordBytes(bytes);
        Memory.putInt(ring + ((begun + record) & mask), 0);
        if (begun == index) {
            Memory.putIntRelease(ring + index, bytes);
            head += record;
        } else {
            Memory.putInt(ring, bytes);
            Memory.putIntRelease(ring + index, RingReader.SKIP);
            head += mask + 1 - index + record;
        }
    }

    /** Returns the position behind the last packet, in bytes since the beginning. */
    long head() {
        return head;
    }

    /** Returns where the reader says that it is, whatever that may be worth. */
    long tail() {
        return Memory.getLongAcquire(tail);
    }
}
