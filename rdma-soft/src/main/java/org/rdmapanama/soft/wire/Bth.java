package org.rdmapanama.soft.wire;

import org.rdmapanama.soft.memory.Memory;

/**
 * The base transport header, with which each packet starts. (Section 9.2 of the InfiniBand Architecture Specification,
 * volume 1.) All methods take the address of the packet.
 */
public final class Bth {
    public static final int BYTES = 12;

    /** The partition key that every port has: full membership of the default partition. */
    public static final int DEFAULT_PKEY = 0xFFFF;

    /** Queue pair numbers and packet sequence numbers have 24 bits. */
    public static final int MASK_24 = 0xFF_FFFF;

    private static final int SOLICITED = 0x80;
    private static final int MIGRATED = 0x40;
    private static final int VERSION = 0x0F;
    private static final int CONGESTED = 0x80;
    private static final int ACK_REQUEST = 0x80;

    private Bth() {}

    /**
     * Writes the whole header, as of transport version 0, not migrated, and without congestion.
     *
     * @param pad how many bytes, 0 to 3, follow the payload to make it a multiple of 4
     */
    public static void write(
            long packet,
            int opcode,
            boolean solicited,
            int pad,
            int pkey,
            int destinationQueuePair,
            boolean ackRequest,
            int psn) {
        Memory.putByte(packet, (byte) opcode);
        Memory.putByte(packet + 1, (byte) ((solicited ? SOLICITED : 0) | (pad << 4)));
        Memory.putNetShort(packet + 2, (short) pkey);
        Memory.putNetInt(packet + 4, destinationQueuePair & MASK_24);
        Memory.putNetInt(packet + 8, (psn & MASK_24) | (ackRequest ? ACK_REQUEST << 24 : 0));
    }

    /** See {@link Opcode}. */
    public static int opcode(long packet) {
        return Memory.getByte(packet) & 0xFF;
    }

    public static boolean solicited(long packet) {
        return (Memory.getByte(packet + 1) & SOLICITED) != 0;
    }

    /** Returns the migration request bit, which a device without path migration ignores. */
    public static boolean migrated(long packet) {
        return (Memory.getByte(packet + 1) & MIGRATED) != 0;
    }

    /** Returns how many pad bytes, 0 to 3, follow the payload. */
    public static int pad(long packet) {
        return (Memory.getByte(packet + 1) >> 4) & 3;
    }

    /** Returns the version of the transport header; packets of any version but 0 must be dropped. */
    public static int version(long packet) {
        return Memory.getByte(packet + 1) & VERSION;
    }

    public static int pkey(long packet) {
        return Memory.getNetShort(packet + 2) & 0xFFFF;
    }

    /** Returns whether the packet met congestion on its way (FECN); the checksum does not cover this byte. */
    public static boolean congested(long packet) {
        return (Memory.getByte(packet + 4) & CONGESTED) != 0;
    }

    public static int destinationQueuePair(long packet) {
        return Memory.getNetInt(packet + 4) & MASK_24;
    }

    public static boolean ackRequest(long packet) {
        return (Memory.getByte(packet + 8) & ACK_REQUEST) != 0;
    }

    /** Sets or clears the acknowledgement request, for example in a retransmitted packet. */
    public static void ackRequest(long packet, boolean wanted) {
        Memory.putByte(packet + 8, wanted ? (byte) ACK_REQUEST : 0);
    }

    /** Returns the packet sequence number; see {@link Psn}. */
    public static int psn(long packet) {
        return Memory.getNetInt(packet + 8) & MASK_24;
    }
}
