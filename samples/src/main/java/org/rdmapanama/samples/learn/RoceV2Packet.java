package org.rdmapanama.samples.learn;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;

/** A packet that soft0 has sent, in its frame of the loopback interface. */
final class RoceV2Packet {
    private static final int UDP_BYTES = 8;

    private final ByteBuffer frame;

    /** Copies a packet of a capture, which begins with its IP header. */
    RoceV2Packet(long ip, int bytes) {
        frame = ByteBuffer.allocateDirect(EthernetHeader.BYTES + bytes);
        boolean version6 = Memory.getByte(ip) >> 4 == 6;
        EthernetHeader.putLoopback(frame, version6 ? EthernetHeader.IPV6 : EthernetHeader.IPV4);
        Memory.copy(ip, MemorySegment.ofBuffer(frame).address(), bytes);
        frame.rewind();
    }

    /** Returns the frame, from index 0 to its limit. */
    ByteBuffer frame() {
        return frame;
    }

    boolean isVersion6() {
        return IpHeader.isVersion6(frame, EthernetHeader.BYTES);
    }

    int opcode() {
        return Bth.opcode(bthAddress());
    }

    int pad() {
        return Bth.pad(bthAddress());
    }

    private long bthAddress() {
        return MemorySegment.ofBuffer(transport()).address();
    }

    /** Returns the base transport header and all that follows it, without the CRC. */
    ByteBuffer transport() {
        int start = EthernetHeader.BYTES + (isVersion6() ? IpHeader.IPV6_BYTES : IpHeader.IPV4_BYTES) + UDP_BYTES;
        return frame.slice(start, frame.limit() - InvariantCrc.BYTES - start);
    }

    /** Returns the data without its padding. */
    ByteBuffer data() {
        ByteBuffer transport = transport();
        int headers = Opcode.headerBytes(opcode());
        return transport.slice(headers, transport.limit() - headers - pad());
    }

    FieldTable show() {
        FieldTable fields = new FieldTable(frame);
        EthernetHeader.show(fields, true);
        IpHeader.show(fields);
        udp(fields);
        TransportHeaders.show(fields);
        return fields;
    }

    private static void udp(FieldTable fields) {
        fields.header("UDP");
        fields.field(2, "source port %d: routers with several paths choose one by it", fields.next16());
        int port = fields.next16();
        fields.field(
                2,
                port == UdpFlow.ROCE_PORT
                        ? "destination port %d is RoCE v2"
                        : "destination port %d: another soft0 has 4791",
                port);
        fields.field(2, "%d bytes with this header", fields.next16());
        fields.field(2, fields.next16() == 0 ? "no checksum: over IPv4, RoCE v2 has none" : "checksum");
    }
}
