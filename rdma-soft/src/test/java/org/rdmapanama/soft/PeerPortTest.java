package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Bound;

/** Only the socket of the peer can send to a queue pair, not another one at the same address that knows all numbers. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PeerPortTest {
    private static final int PEER = 0x1234;
    private static final int FIRST = 0xff_fffe;
    private static final int ROCE = 4791;

    /** Bytes between the places of two writes. */
    private static final int STEP = 64;

    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();
    private SoftPair pair;
    private InetSocketAddress device;

    @BeforeEach
    void clear() {
        packet.clear();
    }

    private void open(SoftPair open) {
        pair = open;
        SoftDevice soft = SoftDevice.contextAt(pair.context.nativeAddress()).device();
        device = new InetSocketAddress(soft.addresses().address(0), soft.wire().port());
    }

    private DatagramChannel socket() throws IOException {
        InetAddress own = device.getAddress();
        return DatagramChannel.open(StandardProtocolFamily.INET).bind(new InetSocketAddress(own, 0));
    }

    /** Returns a queue pair whose peer is at a port. */
    private QueuePair connected(int port) {
        QueuePair queuePair = pair.domain.createQueuePair(
                new QueuePairOptions(QueuePairType.RC, pair.context.createCompletionQueue(4)));
        queuePair.localEndpoint(new ConnectOptions());
        queuePair.connect(
                new Endpoint(0, PEER, FIRST, PacketPeer.gid(new InetSocketAddress(device.getAddress(), port))));
        return queuePair;
    }

    /** Sends a write of a number that is not 0 to the place of a number. */
    private void write(DatagramChannel from, QueuePair to, int number) throws IOException {
        int opcode = Opcode.RC_RDMA_WRITE_ONLY;
        int headers = Opcode.headerBytes(opcode);
        packet.clear();
        Bth.write(address, opcode, false, 0, Bth.DEFAULT_PKEY, to.number(), true, Psn.add(FIRST, number));
        Reth.write(address + Reth.OFFSET, pair.memory.address() + place(number), pair.region.rkey(), Long.BYTES);
        packet.putLong(headers, value(from));
        UdpFlow flow = UdpFlow.of((InetSocketAddress) from.getLocalAddress(), device);
        int length = crc.append(flow, packet, headers + Long.BYTES);
        from.send(packet.limit(length).position(0), device);
    }

    private static int place(int number) {
        return number * STEP;
    }

    private static long value(DatagramChannel from) throws IOException {
        return ((InetSocketAddress) from.getLocalAddress()).getPort();
    }

    private void awaitWrite(int number) {
        Bound.of(SoftPair.LIMIT)
                .spin("nothing was written to place " + number, () -> pair.memory.get(JAVA_LONG, place(number)) != 0);
    }

    @Test
    void shouldRequireTheExactPortOfADeviceOfThisKind() throws IOException {
        try (SoftPair open = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true")) {
            open(open);
            try (DatagramChannel peer = socket();
                    DatagramChannel other = socket()) {
                QueuePair queuePair = connected((int) value(peer));
                write(other, queuePair, 0);
                write(peer, queuePair, 0);
                awaitWrite(0);
                assertEquals(value(peer), pair.memory.get(JAVA_LONG, place(0)));
            }
        }
    }

    /** Other devices send from any port. Which one is known from the first packet that has the right number. */
    @Test
    void shouldKeepThePortOfOtherDevices() throws IOException {
        try (SoftPair open = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true", "port", "4800")) {
            open(open);
            try (DatagramChannel peer = socket();
                    DatagramChannel other = socket()) {
                QueuePair queuePair = connected(ROCE);
                // Nobody but the peer knows the next number. A guess does not make another socket the peer.
                write(other, queuePair, 5);
                write(peer, queuePair, 0);
                awaitWrite(0);
                write(other, queuePair, 1);
                write(peer, queuePair, 1);
                awaitWrite(1);
                assertEquals(value(peer), pair.memory.get(JAVA_LONG, place(1)));
                assertEquals(0, pair.memory.get(JAVA_LONG, place(5)));
            }
        }
    }
}
