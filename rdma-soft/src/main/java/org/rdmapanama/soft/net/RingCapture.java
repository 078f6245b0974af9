package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Capture;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * Records packets that go through shared memory as if they had gone through a socket, with the checksum that they do not
 * have. Callers must hold the lock of the device.
 */
final class RingCapture {
    /** The longest packet that can be recorded, without its checksum. */
    static final int MOST_BYTES = InvariantCrc.MAX_PACKET_BYTES - InvariantCrc.BYTES;

    private final Capture capture;
    private final InvariantCrc crc;
    private final ByteBuffer packet =
            KnownMemory.directBuffer(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();

    RingCapture(Capture capture, InvariantCrc crc) {
        this.capture = capture;
        this.crc = crc;
    }

    /** Records a packet of so many bytes, without a checksum. */
    void write(UdpFlow flow, long from, int bytes) {
        Memory.copy(from, address, bytes);
        packet.clear();
        capture.write(flow, 0, packet, 0, crc.append(flow, packet, bytes));
    }
}
