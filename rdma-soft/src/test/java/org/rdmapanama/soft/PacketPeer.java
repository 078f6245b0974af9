package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.SegmentSocket;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.UdpFlow;

/** The peer of a queue pair of soft0 that sends the packets that a test writes, and shows the answers. */
final class PacketPeer implements AutoCloseable {
    static final int MTU = 256;

    /** The number of the packet that the queue pair waits for at first. */
    private static final int FIRST = 0xff_fff0;

    private static final int NUMBER = 0x1234;

    /** The queue pair that the packets go to, and where it completes. */
    final QueuePair queuePair;

    final CompletionQueue queue;

    /** The number of the first packet that the queue pair sends. */
    private final int firstOfQueuePair;

    private final DatagramChannel channel;
    private final SoftDevice soft;
    private final InetSocketAddress device;
    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES + 8).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();

    /** With a queue pair of this type, which has reached RTS. */
    PacketPeer(SoftPair pair, QueuePairType type) throws IOException {
        this(pair, type, new ConnectOptions());
    }

    /** The same with options. */
    PacketPeer(SoftPair pair, QueuePairType type, ConnectOptions options) throws IOException {
        soft = SoftDevice.contextAt(pair.context.nativeAddress()).device();
        InetAddress own = soft.addresses().address(0);
        channel = DatagramChannel.open(StandardProtocolFamily.INET).bind(new InetSocketAddress(own, 0));
        channel.setOption(StandardSocketOptions.SO_RCVBUF, SoftPair.BYTES);
        channel.socket().setSoTimeout((int) SoftPair.LIMIT.toMillis());
        device = new InetSocketAddress(own, soft.wire().port());
        queue = pair.context.createCompletionQueue(4);
        queuePair = pair.domain.createQueuePair(new QueuePairOptions(type, queue));
        firstOfQueuePair =
                queuePair.localEndpoint(options.pathMtu(Mtu.ofBytes(MTU))).packetSequenceNumber();
        queuePair.connect(new Endpoint(0, NUMBER, FIRST, gid(socket())));
    }

    private InetSocketAddress socket() throws IOException {
        return (InetSocketAddress) channel.getLocalAddress();
    }

    /** Returns the GID of a device at a socket. */
    static Gid gid(InetSocketAddress socket) {
        ByteBuffer bytes =
                ByteBuffer.allocate(2 * Long.BYTES).putLong(Gids.high(socket)).putLong(Gids.low(socket.getAddress()));
        return Gid.of(bytes.array());
    }

    /** Sends a packet that asks for no acknowledgement; numbers count from 0. */
    void send(int opcode, int number, int payload) throws IOException {
        sendNumbered(opcode, Psn.add(FIRST, number), payload);
    }

    /** Sends a packet without a payload to any queue pair. */
    void sendTo(int number, int opcode) throws IOException {
        sendTo(number, opcode, 0, 0);
    }

    private void sendNumbered(int opcode, int psn, int payload) throws IOException {
        sendTo(queuePair.number(), opcode, psn, payload);
    }

    private void sendTo(int number, int opcode, int psn, int payload) throws IOException {
        Bth.write(address, opcode, false, -payload & 3, Bth.DEFAULT_PKEY, number, false, psn);
        int length = Opcode.headerBytes(opcode) + payload + (-payload & 3);
        int all = crc.append(UdpFlow.of(socket(), device), packet, length);
        channel.send(packet.limit(all).position(0), device);
        packet.clear();
    }

    /**
     * Sends packets of a write, without its end, each of which asks for an acknowledgement, so that the kernel hands them to the
     * device together. Returns false if the kernel cannot do that.
     */
    boolean sendTogether(int number, int count) throws IOException {
        int headers = Opcode.headerBytes(Opcode.RC_RDMA_WRITE_MIDDLE);
        int size = headers + MTU + InvariantCrc.BYTES;
        ByteBuffer packets = ByteBuffer.allocateDirect(count * size).order(ByteOrder.LITTLE_ENDIAN);
        long first = MemorySegment.ofBuffer(packets).address();
        for (int i = 0; i < count; i++) {
            Bth.write(
                    first + (long) i * size,
                    Opcode.RC_RDMA_WRITE_MIDDLE,
                    false,
                    0,
                    Bth.DEFAULT_PKEY,
                    queuePair.number(),
                    true,
                    Psn.add(FIRST, number + i));
            crc.append(UdpFlow.of(socket(), device), packets, i * size, size - InvariantCrc.BYTES, i);
        }
        packets.position(count * size);
        try (SegmentSocket segments = new SegmentSocket(channel, device)) {
            if (segments.canJoin()) {
                segments.send(packets, size);
                return true;
            }
        }
        return false;
    }

    /** Like {@link #send(int, int, int)}, with an address, a key and a length, of a write or a read. */
    void send(int opcode, int number, int payload, long remoteAddress, int rkey, int length) throws IOException {
        Reth.write(address + Reth.OFFSET, remoteAddress, rkey, length);
        send(opcode, number, payload);
    }

    /** Sends a fetch-and-add. */
    void sendAdd(int number, long remoteAddress, int rkey, long value) throws IOException {
        AtomicEth.write(address + AtomicEth.OFFSET, remoteAddress, rkey, value, 0);
        send(Opcode.RC_FETCH_ADD, number, 0);
    }

    /** Answers a packet of the queue pair, the first of which has the number 0. */
    void respond(int opcode, int number, int syndrome, int payload) throws IOException {
        if (Opcode.hasAeth(opcode)) {
            Aeth.write(address + Aeth.OFFSET, syndrome, 0);
        }
        sendNumbered(opcode, Psn.add(firstOfQueuePair, number), payload);
    }

    /** Returns the next packet that the queue pair sends, which must have this opcode and number. */
    byte[] request(int opcode, int number) throws IOException {
        return receive(opcode, Psn.add(firstOfQueuePair, number));
    }

    /** Returns the number of the next packet that the queue pair sends. */
    int nextNumber() throws IOException {
        return Psn.compare(psn(receive()), firstOfQueuePair);
    }

    /** Tells the device that answers of this peer take so long: it asks the peer when one takes longer. */
    void answersTake(Duration usual) throws IOException {
        soft.lock();
        try {
            soft.wire().peer(socket()).window.answered(usual.toNanos());
        } finally {
            soft.unlock();
        }
    }

    /** How long to wait for an answer. */
    void limit(Duration limit) throws IOException {
        channel.socket().setSoTimeout((int) limit.toMillis());
    }

    /** Returns the syndrome of the next answer, which must be about this packet. */
    int answer(int number) throws IOException {
        return next(Opcode.RC_ACKNOWLEDGE, number)[Aeth.OFFSET];
    }

    /** Returns the next packet, with room behind it; it must have this opcode and number. */
    byte[] next(int opcode, int number) throws IOException {
        return receive(opcode, Psn.add(FIRST, number));
    }

    private byte[] receive(int opcode, int psn) throws IOException {
        byte[] bytes = receive();
        assertEquals(opcode, bytes[0]);
        assertEquals(psn, psn(bytes));
        return bytes;
    }

    private static int psn(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getInt(8) & Bth.MASK_24;
    }

    private byte[] receive() throws IOException {
        byte[] bytes = new byte[InvariantCrc.MAX_PACKET_BYTES];
        do {
            channel.socket().receive(new DatagramPacket(bytes, bytes.length));
            // The device also asks whether it can share memory with this peer.
        } while (bytes[0] == Opcode.UD_SEND_ONLY);
        return bytes;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
