package org.rdmapanama.soft.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32;
import org.rdmapanama.ffm.internal.KnownMemory;

/**
 * The invariant checksum (ICRC) of four bytes, with which each packet ends. (Annex A17.3.3 and section 7.8.1 of the
 * InfiniBand Architecture Specification, volume 1.) It covers the IP and UDP headers as well, which a program that uses
 * a socket does not see, so both are synthesized here: IPv4 packets have no options and must not be fragmented, as the
 * specification requires.
 *
 * <p>The IPv4 identification of a received packet is unknown. Linux sends 0 for a socket that is not connected and has
 * {@code IP_DONTFRAGMENT} set, and i in segment i where it divides what a program sends; other devices, such as
 * Soft-RoCE, number all their packets. But the checksum is linear, so it determines which identification explains it, if
 * any does. That leaves 16 of 32 bits for the check: one of 65536 randomly damaged packets passes it, though none with a
 * single wrong bit. The kernel has checked the UDP checksum before, another 16 bits, unless the sender left it out. For
 * IPv6, all 32 bits count. What a receiver accepts does not depend on earlier packets, which anybody may have sent.
 *
 * <p>A buffer holds its packet at any index within its limit, whatever the position; direct buffers are fastest. Not
 * thread-safe: scratch memory is reused. The device calls it with its lock held.
 */
public final class InvariantCrc {
    public static final int BYTES = 4;

    /** The longest packet that can be checked: 4096 bytes of payload with all headers and the checksum. */
    public static final int MAX_PACKET_BYTES = 4096 + Opcode.MAX_HEADER_BYTES + BYTES;

    /** The result if no identification explains the checksum. */
    public static final int WRONG = -1;

    // A polynomial over GF(2) as CRC-32 writes it: bit 31 is the coefficient of 1, bit 0 that of x to the 31st.
    private static final int ONE = 1 << 31;
    private static final int POLYNOMIAL = 0xEDB8_8320;

    // Indexed by the length of a packet without its checksum: the inverse of the factor by which the checksum
    // multiplies the sixteen bits of the identification, which is x to the power of the number of all bits after them,
    // plus 32.
    private static final int[] INVERSES = new int[MAX_PACKET_BYTES - BYTES + 1];

    static {
        int inverse = ONE;
        int bytesBehind = UdpFlow.IPV4_BYTES - 6 + UdpFlow.UDP_BYTES;
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
            KnownMemory.directBuffer(UdpFlow.DUMMY_BYTES + UdpFlow.IPV6_BYTES + UdpFlow.UDP_BYTES + Bth.BYTES);
    private UdpFlow flowInScratch;

    /**
     * Computes the checksum of a packet at index 0 with the IPv4 identification 0.
     *
     * @param length the size of the packet without the checksum, at least that of the base header
     */
    public int compute(UdpFlow flow, ByteBuffer packet, int length) {
        return compute(flow, packet, 0, length, 0);
    }

    private int compute(UdpFlow flow, ByteBuffer packet, int start, int length, int identification) {
        int headers = flow.headerBytes();
        int bth = UdpFlow.DUMMY_BYTES + headers;
        if (flow != flowInScratch) {
            scratch.limit(bth + Bth.BYTES).put(0, flow.template);
            flowInScratch = flow;
        }
        int udpLength = UdpFlow.UDP_BYTES + length + BYTES;
        if (flow.isIpv6()) {
            scratch.putShort(UdpFlow.DUMMY_BYTES + 4, (short) udpLength);
        } else {
            scratch.putShort(UdpFlow.DUMMY_BYTES + 2, (short) (headers + length + BYTES));
            scratch.putShort(UdpFlow.DUMMY_BYTES + 4, (short) identification);
        }
        scratch.putShort(bth - 4, (short) udpLength);
        scratch.put(bth, packet, start, Bth.BYTES);
        // The byte with the congestion bits may change on the way.
        scratch.put(bth + 4, (byte) 0xFF);
        crc.reset();
        crc.update(scratch.position(0));

        int position = packet.position();
        int limit = packet.limit();
        crc.update(packet.limit(start + length).position(start + Bth.BYTES));
        packet.limit(limit).position(position);
        return (int) crc.getValue();
    }

    /** Appends the checksum to an otherwise complete packet at index 0 that gets the IPv4 identification 0. */
    public int append(UdpFlow flow, ByteBuffer packet, int length) {
        return append(flow, packet, 0, length, 0);
    }

    /**
     * Appends the checksum to an otherwise complete packet.
     *
     * @param start the index of the packet
     * @param length the size of the packet without the checksum
     * @param identification the IPv4 identification that it gets, 0 to 65535; IPv6 has none
     * @return the size with the checksum
     */
    public int append(UdpFlow flow, ByteBuffer packet, int start, int length, int identification) {
        packet.putInt(start + length, inOrderOf(packet, compute(flow, packet, start, length, identification)));
        return length + BYTES;
    }

    /** Returns whether the checksum of a packet at index 0 is correct. Those that are too short or too long are not valid. */
    public boolean isValid(UdpFlow flow, ByteBuffer packet, int length) {
        return identification(flow, packet, length) != WRONG;
    }

    /** Like {@link #identification(UdpFlow, ByteBuffer, int, int, int)}, of a packet at index 0. */
    public int identification(UdpFlow flow, ByteBuffer packet, int length) {
        return identification(flow, packet, 0, length, 0);
    }

    /**
     * Returns the IPv4 identification, 0 to 65535, with which the checksum of a packet is correct, or {@link #WRONG} if
     * there is none, or if the packet is too short or too long. IPv6 has no identification: the result is 0 for a correct
     * packet.
     *
     * @param start the index of the packet
     * @param length the size of the packet with the checksum
     * @param likely the identification that it most likely has: another one takes longer to find
     */
    public int identification(UdpFlow flow, ByteBuffer packet, int start, int length, int likely) {
        if (length < Bth.BYTES + BYTES || length > MAX_PACKET_BYTES) {
            return WRONG;
        }
        int checked = length - BYTES;
        int difference =
                compute(flow, packet, start, checked, likely) ^ inOrderOf(packet, packet.getInt(start + checked));
        if (difference == 0) {
            return flow.isIpv6() ? 0 : likely;
        }
        if (flow.isIpv6()) {
            return WRONG;
        }
        int identification = multiply(difference, INVERSES[checked]);
        // A polynomial of a degree below 16, its first byte in the lower half; higher degrees are in the lower bits.
        return (identification & 0xFFFF) == 0
                ? likely ^ (Short.reverseBytes((short) (identification >>> 16)) & 0xFFFF)
                : WRONG;
    }

    /** Returns the product of two polynomials, modulo that of CRC-32. */
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
