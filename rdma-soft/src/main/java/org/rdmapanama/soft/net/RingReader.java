package org.rdmapanama.soft.net;

import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;

/**
 * The end of a ring where packets come out. A ring has one writer and one reader. It consists of records, each of a length
 * (four bytes, and four unused ones) and a packet, which begin at cache lines. A length of 0 says that the next record is
 * not there yet; {@link #SKIP}, that it is at the beginning of the ring, because it did not fit the rest. The writer
 * clears the length behind a record before it publishes that of the record itself, so the reader needs nothing but lengths.
 * The reader publishes how far it got, so that the writer knows what is free.
 *
 * <p>The writer belongs to another process, which may write anything, at any time. Therefore a length is read once and
 * checked, and the packet is copied before anything of it is looked at.
 *
 * <p>Not thread-safe: {@link RingLink} calls it with the lock of the device held.
 */
final class RingReader {
    static final int LINE = 64;
    static final int HEADER_BYTES = 8;

    /** How many bytes of a message a packet can carry at most: those of several packets of a socket. */
    static final int MOST_PAYLOAD_BYTES = 32 << 10;

    /** The longest packet, without a checksum. */
    static final int MOST_BYTES = MOST_PAYLOAD_BYTES + Opcode.MAX_HEADER_BYTES;

    static final int MOST_RECORD_BYTES = recordBytes(MOST_BYTES);

    static final int SKIP = -1;

    /** What {@link #take} returns when there is a length that no packet has. */
    static final int BROKEN = -1;

    private final long ring;
    private final int mask;
    private final long tail;

    /** How far it got, in bytes since the beginning. */
    private long position;

    /**
     * Creates the reader of an empty ring.
     *
     * @param ring its address, a multiple of {@link #LINE}
     * @param bytes its size, a power of two
     * @param tail the address at which it publishes its position
     */
    RingReader(long ring, int bytes, long tail) {
        this.ring = ring;
        this.tail = tail;
        mask = bytes - 1;
    }

    /** Returns the bytes of a record with a packet of so many bytes. */
    static int recordBytes(int packet) {
        return (HEADER_BYTES + packet + LINE - 1) & -LINE;
    }

    /** Returns whether there is a packet, or something else. */
    boolean hasNext() {
        return Memory.getIntAcquire(ring + ((int) position & mask)) != 0;
    }

    /**
     * Takes the next packet.
     *
     * @param to where to copy it, {@link #MOST_BYTES}
     * @return its length; 0 if there is none; or {@link #BROKEN}
     */
    int take(long to) {
        int index = (int) position & mask;
        int length = Memory.getIntAcquire(ring + index);
        if (length == SKIP && index != 0) {
            position += mask + 1 - index;
            index = 0;
            length = Memory.getIntAcquire(ring);
        }
        if (length == 0) {
            return 0;
        }
        if (length < Bth.BYTES || length > MOST_BYTES || index + HEADER_BYTES + length > mask + 1) {
            return BROKEN;
        }
        Memory.copy(ring + index + HEADER_BYTES, to, length);
        position += recordBytes(length);
        Memory.putLongRelease(tail, position);
        return length;
    }
}
