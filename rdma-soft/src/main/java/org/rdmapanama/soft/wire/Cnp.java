package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The congestion notification packet, with which a receiver of a marked packet asks its sender to slow down. (Section
 * A17.9.3 of annex A17 of the InfiniBand Architecture Specification.)
 */
public final class Cnp {
    private static final int RESERVED_BYTES = 16;

    /** How many bytes a notification has, without its checksum. */
    public static final int BYTES = Bth.BYTES + RESERVED_BYTES;

    /** The bit of the base header that says so (BECN), beside that of marked packets. */
    private static final int NOTIFIES = 0x40;

    private Cnp() {}

    /** Writes the whole packet. Returns its size without the checksum, in bytes. */
    public static int write(long packet, int destinationQueuePair) {
        Bth.write(packet, Opcode.CNP, false, 0, Bth.DEFAULT_PKEY, destinationQueuePair, false, 0);
        Memory.putByte(packet + 4, (byte) NOTIFIES);
        Memory.zero(packet + Bth.BYTES, RESERVED_BYTES);
        return BYTES;
    }
}
