package org.rdmapanama.soft;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import org.rdmapanama.soft.cm.IpHeader;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.cm.Req;
import org.rdmapanama.soft.cm.SidrReq;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;

/** Sends datagrams to queue pair 1 of a device that are right but for what they say, from a socket of its own. */
final class Attacker implements AutoCloseable {
    private static final int PAYLOAD = Deth.OFFSET + Deth.BYTES;
    private static final int PORT_BITS = 16;

    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();
    private final DatagramChannel channel;
    private final InetSocketAddress source;
    private final InetSocketAddress device;
    private final UdpFlow flow;

    Attacker(InetAddress from, int port, InetSocketAddress device) throws IOException {
        this.device = device;
        channel = DatagramChannel.open(StandardProtocolFamily.INET);
        channel.bind(new InetSocketAddress(from, port));
        channel.configureBlocking(false);
        source = (InetSocketAddress) channel.getLocalAddress();
        flow = UdpFlow.of(source, device);
    }

    /** The number of a service, in a port space. */
    static long service(int portSpace, int port) {
        return Integer.toUnsignedLong(portSpace << PORT_BITS | port);
    }

    /** The address of the datagram that is sent, or that has come. */
    long mad() {
        return address + PAYLOAD;
    }

    /** Sends so many bytes of it. */
    void send(int bytes) throws IOException {
        Bth.write(address, Opcode.UD_SEND_ONLY, false, 0, Bth.DEFAULT_PKEY, Mad.QUEUE_PAIR, false, 0);
        Deth.write(address + Deth.OFFSET, Mad.QKEY, Mad.QUEUE_PAIR);
        int length = crc.append(flow, packet, PAYLOAD + bytes);
        channel.send(packet.limit(length).position(0), device);
        packet.clear();
    }

    /** Asks a service for a connection. */
    void request(int number, long service, int mtu) throws IOException {
        Req.begin(mad(), number, number, service, 1);
        Req.transport(mad(), Req.RC, false, mtu, 7, 7, 20);
        writeIpHeader(Req.PRIVATE);
        send(Mad.BYTES);
    }

    /** Asks for the queue pair of a service. */
    void datagramRequest(int number, long service) throws IOException {
        SidrReq.write(mad(), number, number, service);
        writeIpHeader(SidrReq.PRIVATE);
        send(Mad.BYTES);
    }

    private void writeIpHeader(int offset) {
        IpHeader.write(
                mad() + offset,
                source.getPort(),
                source.getAddress().getAddress(),
                device.getAddress().getAddress());
    }

    /** Takes a datagram that has come. Returns whether there was one, of that kind. */
    boolean receive(int kind) throws IOException {
        packet.clear();
        boolean any = channel.receive(packet) != null;
        packet.clear();
        return any && Mad.attribute(mad()) == kind;
    }

    /** Takes all that have come. Returns how many there were. */
    int receiveAll() throws IOException {
        int count = 0;
        while (channel.receive(packet) != null) {
            packet.clear();
            count++;
        }
        return count;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
