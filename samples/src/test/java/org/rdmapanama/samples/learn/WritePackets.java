package org.rdmapanama.samples.learn;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.UdpFlow;

/** Packets with RDMA WRITEs of any size, as soft0 writes them to a capture. */
final class WritePackets {
    static final long ADDRESS = 0x7f12_3456_789aL;
    static final int KEY = 0x89ab_cdef;
    static final int QUEUE_PAIR = 0x123456;
    static final int PSN = 0xfedcba;

    private static final int UDP_BYTES = 8;

    private WritePackets() {}

    /** Returns a packet with random data, which are the same for the same size. */
    static RoceV2Packet of(boolean version6, int opcode, int bytes) throws UnknownHostException {
        byte[] data = new byte[bytes];
        new Random(bytes).nextBytes(data);
        return of(version6, opcode, ADDRESS, KEY, data);
    }

    static RoceV2Packet of(boolean version6, int opcode, long to, int key, byte... data) throws UnknownHostException {
        int bytes = data.length;
        InetAddress source = InetAddress.getByName(version6 ? "fd77::1" : "10.77.0.1");
        InetAddress destination = InetAddress.getByName(version6 ? "fd77::2" : "10.77.0.2");
        int pad = -bytes & 3;
        int length = Bth.BYTES + Reth.BYTES + bytes + pad;
        ByteBuffer packet = ByteBuffer.allocateDirect(length + InvariantCrc.BYTES);
        long address = MemorySegment.ofBuffer(packet).address();
        Bth.write(address, opcode, false, pad, Bth.DEFAULT_PKEY, QUEUE_PAIR, true, PSN);
        Reth.write(address + Reth.OFFSET, to, key, bytes);
        packet.put(Bth.BYTES + Reth.BYTES, data);
        UdpFlow flow = UdpFlow.of(
                new InetSocketAddress(source, UdpFlow.ROCE_PORT),
                new InetSocketAddress(destination, UdpFlow.ROCE_PORT));
        new InvariantCrc().append(flow, packet, length);

        int udpLength = UDP_BYTES + packet.capacity();
        ByteBuffer whole = ByteBuffer.allocateDirect(flow.headerBytes() + packet.capacity());
        if (version6) {
            whole.putInt(6 << 28).putShort((short) udpLength).put((byte) 17).put((byte) 64);
        } else {
            whole.putShort((short) 0x4500).putShort((short) whole.capacity()).putShort((short) 0);
            whole.putShort((short) 0x4000).put((byte) 64).put((byte) 17).putShort((short) 0);
        }
        whole.put(source.getAddress()).put(destination.getAddress());
        whole.putShort((short) UdpFlow.ROCE_PORT).putShort((short) UdpFlow.ROCE_PORT);
        whole.putShort((short) udpLength).putShort((short) 0);
        if (!version6) {
            whole.putShort(10, (short) sum(whole, 0, 20, 0));
        } else {
            whole.putShort(
                    46, (short) sum(whole.duplicate().put(packet.duplicate()), 8, whole.capacity(), udpLength + 17));
        }
        whole.put(packet);
        return new RoceV2Packet(MemorySegment.ofBuffer(whole.rewind()).address(), whole.capacity());
    }

    static RoceV2Packet of(boolean version6, int bytes) throws UnknownHostException {
        return of(version6, Opcode.RC_RDMA_WRITE_ONLY, bytes);
    }

    /** Returns the checksum of IP, TCP and UDP, of an even number of bytes or with a zero after them. */
    static int sum(ByteBuffer bytes, int from, int to, int more) {
        int sum = more;
        for (int at = from; at < to; at += 2) {
            int pair = at + 1 < to ? bytes.getShort(at) : bytes.get(at) << 8;
            sum += pair & 0xffff;
            // A carry out of sixteen bits comes in again.
            sum = (sum & 0xffff) + (sum >>> 16);
        }
        return ~sum & 0xffff;
    }

    /** Returns a CRC, bit by bit, with the polynomial as its least significant bit would come first. */
    static int crc(int polynomial, byte... bytes) {
        int crc = -1;
        for (byte each : bytes) {
            crc ^= each & 0xff;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 1) == 0 ? crc >>> 1 : (crc >>> 1) ^ polynomial;
            }
        }
        return ~crc;
    }

    /** Returns the last four bytes of a frame, of which the least significant one comes first. */
    static int lastFour(ByteBuffer frame) {
        return frame.duplicate().order(ByteOrder.LITTLE_ENDIAN).getInt(frame.limit() - 4);
    }
}
