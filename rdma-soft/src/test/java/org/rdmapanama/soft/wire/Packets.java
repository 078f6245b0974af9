package org.rdmapanama.soft.wire;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;

/** Packets for tests. */
final class Packets {
    private Packets() {}

    static ByteBuffer direct(byte[] bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES);
        buffer.put(bytes).flip();
        return buffer;
    }

    /** Where a direct buffer is, to be used as long as it is kept. */
    static long address(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer).address() - buffer.position();
    }

    /** The checksum of an IP packet, its last four bytes left out, by the letter of annex A17.3.3. */
    static int slowChecksum(byte[] ipPacket) {
        byte[] masked = new byte[8 + ipPacket.length - 4];
        System.arraycopy(ipPacket, 0, masked, 8, ipPacket.length - 4);
        int ip = 8;
        int udp;
        for (int i = 0; i < 8; i++) {
            masked[i] = (byte) 0xFF;
        }
        if (ipPacket[0] >> 4 == 4) {
            udp = ip + 20;
            masked[ip + 1] = (byte) 0xFF;
            masked[ip + 8] = (byte) 0xFF;
            masked[ip + 10] = (byte) 0xFF;
            masked[ip + 11] = (byte) 0xFF;
        } else {
            udp = ip + 40;
            masked[ip] = 0x6F;
            masked[ip + 1] = (byte) 0xFF;
            masked[ip + 2] = (byte) 0xFF;
            masked[ip + 3] = (byte) 0xFF;
            masked[ip + 7] = (byte) 0xFF;
        }
        masked[udp + 6] = (byte) 0xFF;
        masked[udp + 7] = (byte) 0xFF;
        masked[udp + 8 + 4] = (byte) 0xFF;
        CRC32 crc = new CRC32();
        crc.update(masked);
        return (int) crc.getValue();
    }
}
