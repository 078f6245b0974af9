package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Bound;

/** Which peers get many packets with one system call, and that all of these arrive. */
@EnabledOnOs(OS.LINUX) // where all of 127.0.0.0/8 are addresses of the machine
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WireBatchesTest {
    private static final int PORT = 22_200;
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int BYTES = 1000;

    /** More than one call takes. */
    private static final int MANY = 150;

    private static Wire open(LocalAddresses addresses, SoftSettings.Segmentation segments) throws IOException {
        SoftSettings settings =
                new SoftSettings(PORT, null, SoftSettings.Idle.PARK, null, null, true, segments, null, true, null, 0);
        return Wire.open("soft0", addresses, settings);
    }

    private static Wire open(SoftSettings.Segmentation segments) throws IOException {
        return open(new LocalAddresses(List.of(LOOPBACK), 65536), segments);
    }

    private static InetSocketAddress socket(String address, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    }

    /** Other machines at 4791 or sending from a high port may have a card; at other ports there are only devices of this kind. */
    @ParameterizedTest
    @CsvSource({
        "127.0.0.1, 4791, true",
        "127.0.0.1, 4792, true",
        "127.0.0.1, 50000, true",
        "127.8.9.10, 4791, true",
        "10.9.8.7, 4791, false",
        "10.9.8.7, 4790, true",
        "10.9.8.7, 4792, true",
        "10.9.8.7, 49151, true",
        "10.9.8.7, 49152, false",
        "10.9.8.7, 65535, false",
        "2001:db8::1, 4791, true",
        "2001:db8::1, 50000, true",
        "::1, 4791, true"
    })
    void shouldKnowBeforehandWhoDoesNotMind(String address, int port, boolean batches) throws IOException {
        try (Wire wire = open(SoftSettings.Segmentation.AUTO)) {
            assertEquals(batches, wire.peer(socket(address, port)).batches);
        }
        try (Wire wire = open(SoftSettings.Segmentation.ALL)) {
            assertTrue(wire.peer(socket(address, port)).batches);
        }
    }

    @Test
    void shouldNotMindItsOwnAddresses() throws IOException {
        LocalAddresses all = LocalAddresses.query(SoftSettings.ALL_ADDRESSES);
        try (Wire wire = open(all, SoftSettings.Segmentation.AUTO)) {
            for (int i = 0; i < all.count(); i++) {
                assertTrue(wire.peer(new InetSocketAddress(all.address(i), 50_000)).batches, all.address(i)::toString);
            }
        }
    }

    /** Sends a packet of the wire's peer from a socket, and has the wire take it. Returns what the wire knows then. */
    private static boolean learn(String from, int port, boolean right, SoftSettings.Segmentation segments)
            throws IOException {
        InvariantCrc crc = new InvariantCrc();
        try (Wire wire = open(segments);
                DatagramChannel channel =
                        DatagramChannel.open(StandardProtocolFamily.INET).bind(socket(from, port))) {
            InetSocketAddress sender = (InetSocketAddress) channel.getLocalAddress();
            Peer peer = wire.peer(sender);
            // As of another machine: this test has only one.
            peer.batches = false;
            InetSocketAddress own = new InetSocketAddress(LOOPBACK, wire.port());
            ByteBuffer packet =
                    ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            write(MemorySegment.ofBuffer(packet).address(), 0);
            int length = crc.append(UdpFlow.of(sender, own), packet, BYTES);
            packet.put(BYTES / 2, (byte) (packet.get(BYTES / 2) ^ (right ? 0 : 1)));
            channel.send(packet.limit(length).position(0), own);
            Bound bound = Bound.usual();
            long before = wire.received();
            while (wire.received() == before) {
                bound.check("nothing arrives");
                wire.receive(1, (address, bytes, of, index) -> true);
            }
            assertEquals(peer, wire.peer(sender));
            return peer.batches;
        }
    }

    /** A device that sends from the port at which it receives is of this kind, as the checksum shows that it is one. */
    @Test
    void shouldLearnWhoDoesNotMind() throws IOException {
        String other = "127.77.0.1";
        assertTrue(learn(other, UdpFlow.ROCE_PORT, true, SoftSettings.Segmentation.AUTO));
        assertFalse(learn(other, UdpFlow.ROCE_PORT, false, SoftSettings.Segmentation.AUTO));
        assertFalse(learn(other, 50_001, true, SoftSettings.Segmentation.AUTO));
        assertFalse(learn(other, UdpFlow.ROCE_PORT, true, SoftSettings.Segmentation.NONE));
    }

    /** Writes a packet of a number and of any bytes. */
    private static void write(long packet, int number) {
        for (int at = 0; at < BYTES; at += Integer.BYTES) {
            Memory.putInt(packet + at, number * 7919 + at);
        }
        Bth.write(packet, Opcode.RC_SEND_ONLY, false, 0, Bth.DEFAULT_PKEY, 5, false, number);
    }

    private static void send(Wire from, Peer to, int number) {
        long packet = from.begin(to, 0, 0);
        assertTrue(packet != 0, "there is no room");
        write(packet, number);
        from.send(BYTES);
    }

    /** The kernel divides them, and hands them over together where it can. */
    @ParameterizedTest
    @EnumSource(SoftSettings.Segmentation.class)
    void shouldSendManyAtOnce(SoftSettings.Segmentation segments) throws IOException {
        try (Wire from = open(segments);
                Wire to = open(SoftSettings.Segmentation.AUTO);
                DatagramChannel other = DatagramChannel.open(StandardProtocolFamily.INET)) {
            Peer peer = from.peer(new InetSocketAddress(LOOPBACK, to.port()));
            for (int i = 0; i < MANY; i++) {
                send(from, peer, i);
            }
            assertTrue(from.flush());
            List<Integer> numbers = new ArrayList<>();
            Bound bound = Bound.usual();
            while (to.received() < MANY) {
                bound.check(() -> to.received() + " packets came");
                to.receive(MANY, (packet, bytes, sender, index) -> {
                    assertEquals(BYTES, bytes);
                    for (int at = Bth.BYTES; at < BYTES; at += Integer.BYTES) {
                        assertEquals(Bth.psn(packet) * 7919 + at, Memory.getInt(packet + at));
                    }
                    return numbers.add(Bth.psn(packet));
                });
            }
            assertEquals(IntStream.range(0, MANY).boxed().toList(), numbers);
            if (segments == SoftSettings.Segmentation.NONE) {
                assertEquals(0, to.joined());
                return;
            }
            other.bind(new InetSocketAddress(LOOPBACK, 0));
            try (SegmentSocket socket = new SegmentSocket(other, new InetSocketAddress(LOOPBACK, to.port()))) {
                assumeTrue(socket.canJoin(), "the kernel cannot join datagrams (UDP_GRO)");
            }
            // All but the first one of each call.
            assertEquals(MANY - (MANY + 63) / 64, to.joined());
        }
    }
}
