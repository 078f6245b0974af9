package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Reth;

/**
 * An RDMA WRITE of RoCE v2 as iWARP would carry it: in a TCP stream, framed by MPA (RFC 5044, without markers), with the headers
 * of DDP (RFC 5041) and RDMAP (RFC 5040).
 */
final class IwarpPacket {
    static final int TCP_BYTES = 20;
    static final int MPA_BYTES = 2;
    static final int DDP_BYTES = 14;
    static final int CRC_BYTES = 4;

    /** The ports and numbers of the TCP connection are examples. */
    static final int PORT_OF_A = 49152;

    static final int PORT_OF_B = 5000;

    /** A stream begins at 1 here, and with 20 bytes of MPA, by which the two sides agree, in each direction. */
    private static final int SEQUENCE = 21;

    private static final int WINDOW = 65535;

    private static final int HEADER_WORDS = TCP_BYTES / 4;
    private static final int PUSH = 0x08;
    private static final int ACK = 0x10;

    private static final int TAGGED = 0x80;
    private static final int LAST = 0x40;
    private static final int DDP_VERSION = 1;
    private static final int RDMAP_VERSION = 1;
    private static final int RDMA_WRITE = 0;

    private IwarpPacket() {}

    /** Whether a packet is the first or only one of an RDMA WRITE that RFC 5040 has, too: one without immediate data. */
    static boolean canCarry(int opcode) {
        return opcode == Opcode.RC_RDMA_WRITE_FIRST || opcode == Opcode.RC_RDMA_WRITE_ONLY;
    }

    /** Returns the frame of such a packet, from index 0 to its limit. */
    static ByteBuffer of(RoceV2Packet packet) {
        ByteBuffer data = packet.data();
        int frameBytes = MPA_BYTES + DDP_BYTES + data.remaining();
        int pad = -frameBytes & 3;
        int tcpBytes = TCP_BYTES + frameBytes + pad + CRC_BYTES;
        boolean version6 = packet.isVersion6();
        int ip = EthernetHeader.BYTES;
        int tcp = ip + (version6 ? IpHeader.IPV6_BYTES : IpHeader.IPV4_BYTES);
        ByteBuffer frame = ByteBuffer.allocateDirect(tcp + tcpBytes);
        EthernetHeader.putExample(frame, version6 ? EthernetHeader.IPV6 : EthernetHeader.IPV4);
        IpHeader.putLike(frame, packet.frame(), ip, IpHeader.TCP, tcpBytes);
        frame.putShort((short) PORT_OF_A)
                .putShort((short) PORT_OF_B)
                .putInt(SEQUENCE)
                .putInt(SEQUENCE);
        frame.put((byte) (HEADER_WORDS << 4)).put((byte) (PUSH | ACK)).putShort((short) WINDOW);
        // The checksum, and where urgent data ends, of which there is none.
        frame.putInt(0);
        int mpa = frame.position();
        frame.putShort((short) (DDP_BYTES + data.remaining()));
        ddp(frame, packet.transport(), packet.opcode());
        frame.put(data).put(new byte[pad]);
        frame.order(ByteOrder.LITTLE_ENDIAN).putInt(crc(frame, mpa)).order(ByteOrder.BIG_ENDIAN);
        int addresses = version6 ? ip + 8 : ip + 12;
        frame.putShort(tcp + 16, (short) InternetChecksum.of(frame, addresses, frame.limit(), IpHeader.TCP + tcpBytes));
        return frame.rewind();
    }

    private static void ddp(ByteBuffer frame, ByteBuffer transport, int opcode) {
        int last = Opcode.isFirst(opcode) ? 0 : LAST;
        frame.put((byte) (TAGGED | last | DDP_VERSION)).put((byte) (RDMAP_VERSION << 6 | RDMA_WRITE));
        // The remote key is the steering tag, and the address is the tagged offset.
        frame.putInt(transport.getInt(Reth.OFFSET + 8)).putLong(transport.getLong(Reth.OFFSET));
    }

    /** Returns the CRC of what was written since an index. */
    private static int crc(ByteBuffer frame, int from) {
        CRC32C crc = new CRC32C();
        crc.update(frame.slice(from, frame.position() - from));
        return (int) crc.getValue();
    }

    static FieldTable show(ByteBuffer frame) {
        FieldTable fields = new FieldTable(frame);
        EthernetHeader.show(fields, false);
        IpHeader.show(fields);
        fields.header("TCP");
        fields.field(2, "from port %d, an example", fields.next16());
        fields.field(2, "to port %d, an example", fields.next16());
        fields.field(4, "sequence number %d of the first byte that follows, an example", fields.next32());
        fields.field(4, "acknowledges what is before %d, an example", fields.next32());
        fields.field(1, "header of %d bytes", 4 * (fields.next8() >> 4));
        fields.field(1, "flags ACK and PSH");
        fields.field(2, "window of %d bytes, an example", fields.next16());
        fields.field(2, "checksum of the addresses, this header and what follows");
        fields.field(2, "no urgent data");
        fields.header("MPA", "marker PDU aligned framing");
        int bytes = fields.next16();
        fields.field(MPA_BYTES, "%d bytes follow, without padding and CRC", bytes);
        fields.header("DDP and RDMAP", "direct data placement, RDMA protocol");
        boolean last = (fields.next8() & LAST) != 0;
        fields.field(1, "DDP: %s of a message to a tagged buffer, version 1", last ? "last segment" : "segment");
        fields.field(1, "RDMAP: RDMA Write, version 1");
        fields.field(4, "steering tag 0x%08x: the remote key", fields.next32());
        fields.field(8, "tagged offset 0x%x: the address in the memory of the peer", fields.next64());
        int data = bytes - DDP_BYTES;
        fields.data(data, fields.remaining() - CRC_BYTES - data);
        fields.header("CRC");
        fields.field(CRC_BYTES, "CRC of all from MPA on");
        return fields;
    }
}
