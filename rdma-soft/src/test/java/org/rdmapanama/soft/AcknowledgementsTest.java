package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.UdpFlow;

/** When a responder says what has come, to a peer that does not ask: without it Soft-RoCE does not go on in time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AcknowledgementsTest {
    private static final int MTU = 256;
    private static final int PEER = 0x1234;
    private static final int FIRST = 0xff_fff0;
    private static final int LIMIT_MILLIS = 20_000;

    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES + 8).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();

    private DatagramChannel peer;
    private InetSocketAddress device;
    private SoftPair pair;
    private int queuePair;

    private static Gid gid(InetSocketAddress socket) {
        ByteBuffer bytes =
                ByteBuffer.allocate(2 * Long.BYTES).putLong(Gids.high(socket)).putLong(Gids.low(socket.getAddress()));
        return Gid.of(bytes.array());
    }

    /** A packet of a write that has no end. */
    private void send(int number) throws IOException {
        int opcode = number == 0 ? Opcode.RC_RDMA_WRITE_FIRST : Opcode.RC_RDMA_WRITE_MIDDLE;
        Bth.write(address, opcode, false, 0, Bth.DEFAULT_PKEY, queuePair, false, Psn.add(FIRST, number));
        if (number == 0) {
            Reth.write(address + Reth.OFFSET, pair.region.address(), pair.region.rkey(), SoftPair.BYTES);
        }
        UdpFlow flow = UdpFlow.of((InetSocketAddress) peer.getLocalAddress(), device);
        int length = crc.append(flow, packet, Opcode.headerBytes(opcode) + MTU);
        peer.send(packet.limit(length).position(0), device);
        packet.clear();
    }

    /** The next answer: its syndrome; it must be about this packet. */
    private int answer(int number) throws IOException {
        byte[] bytes = new byte[InvariantCrc.MAX_PACKET_BYTES];
        DatagramPacket answer = new DatagramPacket(bytes, bytes.length);
        peer.socket().receive(answer);
        assertEquals(Opcode.RC_ACKNOWLEDGE, bytes[0]);
        ByteBuffer heard = ByteBuffer.wrap(bytes);
        assertEquals(Psn.add(FIRST, number), heard.getInt(8) & Bth.MASK_24);
        return bytes[Aeth.OFFSET];
    }

    @Test
    void shouldAcknowledgeWithoutBeingAsked() throws IOException {
        try (SoftPair open = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true");
                DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET)) {
            pair = open;
            peer = channel;
            SoftDevice soft = SoftDevice.contextAt(pair.context.nativeAddress()).device();
            InetAddress own = soft.addresses().address(0);
            peer.bind(new InetSocketAddress(own, 0));
            peer.socket().setSoTimeout(LIMIT_MILLIS);
            device = new InetSocketAddress(own, soft.wire().port());
            QueuePair responder = pair.domain.createQueuePair(
                    new QueuePairOptions(QueuePairType.RC, pair.context.createCompletionQueue(4)));
            responder.localEndpoint(new ConnectOptions().pathMtu(Mtu.ofBytes(MTU)));
            responder.connect(new Endpoint(0, PEER, FIRST, gid((InetSocketAddress) peer.getLocalAddress())));
            queuePair = responder.number();

            // After so many, or a few more that came with them.
            for (int i = 0; i < 31; i++) {
                send(i);
            }
            peer.socket().setSoTimeout(300);
            assertThrows(SocketTimeoutException.class, () -> answer(30));
            peer.socket().setSoTimeout(LIMIT_MILLIS);
            send(31);
            assertTrue(Aeth.isAck(answer(31)));

            // A gap.
            send(33);
            send(34);
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), answer(32));
            send(32);
            assertTrue(Aeth.isAck(answer(32)));

            // What closes a gap is acknowledged, before the next gap is told.
            send(34);
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), answer(33));
            send(33);
            send(35);
            assertTrue(Aeth.isAck(answer(33)));
            assertEquals(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), answer(34));
        }
    }
}
