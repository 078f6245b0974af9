package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.rdmapanama.soft.wire.InvariantCrc;

/**
 * A packet of RoCE v2 as RoCE v1 would carry it: right in an Ethernet frame, with the global route header of InfiniBand in the
 * place of IP and UDP (annex A16 of the InfiniBand Architecture Specification, volume 1).
 */
final class RoceV1Packet {
    static final int GRH_BYTES = 40;

    /** The next header after a global route header: a base transport header. */
    static final int BTH = 0x1b;

    private static final int GID_BYTES = 16;

    private RoceV1Packet() {}

    /** Returns the frame, from index 0 to its limit. */
    static ByteBuffer of(RoceV2Packet packet) {
        ByteBuffer transport = packet.transport();
        int payload = transport.remaining() + InvariantCrc.BYTES;
        ByteBuffer frame = ByteBuffer.allocateDirect(EthernetHeader.BYTES + GRH_BYTES + payload);
        EthernetHeader.putExample(frame, EthernetHeader.ROCE_V1);
        globalRouteHeader(frame, packet, payload);
        frame.put(transport);
        int crc = invariantCrc(frame.slice(EthernetHeader.BYTES, frame.position() - EthernetHeader.BYTES));
        frame.order(ByteOrder.LITTLE_ENDIAN).putInt(crc);
        return frame.order(ByteOrder.BIG_ENDIAN).rewind();
    }

    private static void globalRouteHeader(ByteBuffer frame, RoceV2Packet packet, int payload) {
        ByteBuffer other = packet.frame();
        int ip = EthernetHeader.BYTES;
        if (packet.isVersion6()) {
            frame.put(other.slice(ip, 4))
                    .putShort((short) payload)
                    .put((byte) BTH)
                    .put(other.get(ip + 7));
            frame.put(other.slice(ip + 8, 2 * GID_BYTES));
        } else {
            int trafficClass = Byte.toUnsignedInt(other.get(ip + 1));
            frame.putInt(6 << 28 | trafficClass << 20).putShort((short) payload);
            frame.put((byte) BTH).put(other.get(ip + 8));
            frame.put(mapped(other, ip + 12)).put(mapped(other, ip + 16));
        }
    }

    /** Returns an IPv4 address as a GID: it is mapped into IPv6. */
    private static byte[] mapped(ByteBuffer frame, int at) {
        byte[] gid = new byte[GID_BYTES];
        gid[10] = -1;
        gid[11] = -1;
        frame.get(at, gid, 12, 4);
        return gid;
    }

    /**
     * Returns the CRC of a packet from its global route header on. Eight bytes of ones stand for the local route header, which
     * RoCE does not have, and what may change on the way counts as ones: the traffic class, the flow label, the hop limit,
     * and the byte with the congestion bits in the base transport header.
     */
    private static int invariantCrc(ByteBuffer packet) {
        byte[] masked = new byte[8 + packet.remaining()];
        Arrays.fill(masked, 0, 8, (byte) -1);
        packet.get(masked, 8, packet.remaining());
        int header = 8;
        masked[header] |= 0x0f;
        Arrays.fill(masked, header + 1, header + 4, (byte) -1);
        masked[header + 7] = -1;
        masked[header + GRH_BYTES + 4] = -1;
        CRC32 crc = new CRC32();
        crc.update(masked);
        return (int) crc.getValue();
    }

    static FieldTable show(ByteBuffer frame) {
        FieldTable fields = new FieldTable(frame);
        EthernetHeader.show(fields, false);
        fields.header("GRH", "global route header");
        fields.field(
                4,
                "version 6, traffic class %d, flow label %d",
                fields.next32() >>> 20 & 0xff,
                fields.next32() & 0xfffff);
        fields.field(2, "%d bytes follow this header", fields.next16());
        fields.field(1, "next header 0x%02x is BTH", fields.next8());
        fields.field(1, "at most %d more routers, and RoCE v1 has none", fields.next8());
        fields.field(GID_BYTES, "from GID %s", gid(fields));
        fields.field(GID_BYTES, "to GID %s", gid(fields));
        TransportHeaders.show(fields);
        return fields;
    }

    private static String gid(FieldTable fields) {
        String address = fields.nextAddress(GID_BYTES);
        // Java takes a mapped address for what it stands for.
        return address.contains(":") ? address : "::ffff:" + address;
    }
}
