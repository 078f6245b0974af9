package org.rdmapanama.soft.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;

/**
 * The invariant checksum (ICRC) of four bytes, with which each packet ends. (Annex A17.3.3 and section 7.8.1 of the
 * InfiniBand Architecture Specification, volume 1.) It covers the IP and UDP headers as well, which a program that uses
 * a socket does not see, so both are made up here: IPv4 packets have no options and are not to be fragmented, as the
 * specification wants it.
 *
 * <p>Two fields remain. What this device sends has the IPv4 identification 0: so does Linux with packets of a socket
 * that is not connected and has {@code IP_DONTFRAGMENT} set. Others, such as Soft-RoCE, number their packets, and a
 * receiver cannot know these numbers. The checksum is linear, so it tells which identification explains it, if any does.
 * That leaves 16 of 32 bits for the check: one of 65536 packets that were damaged at random passes it, though none with
 * a single wrong bit. After a few packets with the identification 0, only this one is right for the same flow, and all 32
 * bits count; for IPv6, they always do.
 *
 * <p>A packet is what its buffer has from index 0 on, wherever the position is, as long as the limit is behind it; the
 * buffer is best a direct one. For one thread.
 */
public final class InvariantCrc {
    public static final int BYTES = 4;

    /** The longest packet that can be checked: 4096 bytes of payload with all headers and the checksum. */
    public static final int MAX_PACKET_BYTES = 4096 + Opcode.MAX_HEADER_BYTES + BYTES;

    /** No identification explains the checksum. */
    public static final int WRONG = -1;

    /** After so many packets in a row with the identification 0 others are no longer believed. */
    static final int ENOUGH_ZEROS = 4;

    // A polynomial over GF(2) as CRC-32 writes it: bit 31 is the coefficient of 1, bit 0 that of x to the 31st.
    private static final int ONE = 1 << 31;
    private static final int POLYNOMIAL = 0xEDB8_8320;

    // By the length of a packet without its checksum: the inverse of what the checksum multiplies the sixteen bits of
    // the identification with: x, to the number of all bits behind them, and 32.
    private static final int[] INVERSES = new int[MAX_PACKET_BYTES - BYTES + 1];

    static {
        int inverse = ONE;
        int bytesBehind = Flow.IPV4_BYTES - 6 + Flow.UDP_BYTES;
        for (int length = -bytesBehind - 4; length < INVERSES.length; length++) {
            if (length >= 0) {
                INVERSES[length] = inverse;
            }
            for (int bit = 0; bit < 8; bit++) {
                inverse = inverse < 0 ? ((inverse ^ POLYNOMIAL) << 1) | 1 : inverse << 1;
            }
        }
    }

    private final CRC32 crc = new CRC32();
    private final ByteBuffer scratch =
            ByteBuffer.allocateDirect(Flow.DUMMY_BYTES + Flow.IPV6_BYTES + Flow.UDP_BYTES + Bth.BYTES);
    private Flow flowInScratch;

    /**
     * The checksum of a packet, its IPv4 identification being 0.
     *
     * @param length the bytes of the packet without the checksum, at least those of the base header
     */
    public int compute(Flow flow, ByteBuffer packet, int length) {
        int headers = flow.headerBytes();
        int bth = Flow.DUMMY_BYTES + headers;
        if (flow != flowInScratch) {
            scratch.limit(bth + Bth.BYTES).put(0, flow.template);
            flowInScratch = flow;
        }
        int udpLength = Flow.UDP_BYTES + length + BYTES;
        if (flow.isIpv6()) {
            scratch.putShort(Flow.DUMMY_BYTES + 4, (short) udpLength);
        } else {
            scratch.putShort(Flow.DUMMY_BYTES + 2, (short) (headers + length + BYTES));
        }
        scratch.putShort(bth - 4, (short) udpLength);
        scratch.put(bth, packet, 0, Bth.BYTES);
        // The byte with the marks of congestion may change on the way.
        scratch.put(bth + 4, (byte) 0xFF);
        crc.reset();
        crc.update(scratch.position(0));

        int position = packet.position();
        int limit = packet.limit();
        crc.update(packet.limit(length).position(Bth.BYTES));
        packet.limit(limit).position(position);
        return (int) crc.getValue();
    }

    /**
     * Appends the checksum to a packet that is complete but for it.
     *
     * @param length the bytes of the packet so far
     * @return the bytes of the packet now
     */
    public int append(Flow flow, ByteBuffer packet, int length) {
        packet.putInt(length, inOrderOf(packet, compute(flow, packet, length)));
        return length + BYTES;
    }

    /**
     * Whether the checksum of a packet that was received is right. Packets too short or too long are not.
     *
     * @param length all bytes of the packet, with the checksum
     */
    public boolean isValid(Flow flow, ByteBuffer packet, int length) {
        int identification = identification(flow, packet, length);
        if (identification == 0) {
            flow.zeros = Math.min(flow.zeros + 1, ENOUGH_ZEROS);
            return true;
        }
        if (identification == WRONG || flow.zeros == ENOUGH_ZEROS) {
            return false;
        }
        flow.zeros = 0;
        return true;
    }

    /**
     * The IPv4 identification, 0 to 65535, that a packet must have had for its checksum to be right, or {@link #WRONG}
     * if there is none. IPv6 has nothing of the kind: 0 is right there.
     *
     * @param length all bytes of the packet, with the checksum
     */
    public int identification(Flow flow, ByteBuffer packet, int length) {
        if (length < Bth.BYTES + BYTES || length > MAX_PACKET_BYTES) {
            return WRONG;
        }
        int checked = length - BYTES;
        int difference = compute(flow, packet, checked) ^ inOrderOf(packet, packet.getInt(checked));
        if (difference == 0) {
            return 0;
        }
        if (flow.isIpv6()) {
            return WRONG;
        }
        int identification = multiply(difference, INVERSES[checked]);
        // A polynomial of a degree below 16, its first byte in the lower half; higher degrees are in the lower bits.
        return (identification & 0xFFFF) == 0 ? Short.reverseBytes((short) (identification >>> 16)) & 0xFFFF : WRONG;
    }

    /** The product of two polynomials, modulo the one of CRC-32. */
    private static int multiply(int a, int b) {
        int product = 0;
        int shifted = a;
        for (int rest = b; rest != 0; rest <<= 1) {
            product ^= shifted & (rest >> 31);
            shifted = (shifted >>> 1) ^ (POLYNOMIAL & -(shifted & 1));
        }
        return product;
    }

    private static int inOrderOf(ByteBuffer packet, int littleEndian) {
        return packet.order() == ByteOrder.LITTLE_ENDIAN ? littleEndian : Integer.reverseBytes(littleEndian);
    }
}
