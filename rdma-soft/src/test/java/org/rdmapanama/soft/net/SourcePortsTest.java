package org.rdmapanama.soft.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Bound;

/** The sockets that packets of connections are sent from. */
@EnabledOnOs(OS.LINUX) // where all of 127.0.0.0/8 are addresses of the machine
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SourcePortsTest {
    /** Addresses that no other test has, because the UDP port must be that of RoCE. */
    private static final String OWN = "127.94.0.1";

    private static final String OTHER = "127.94.0.2";

    /** Two queue pairs whose hashes differ, with any number of ports above one. */
    private static final int FIRST = 1;

    private static final int SECOND = 2;
    private static final int BYTES = 200;
    private static final int MANY = 20;

    private static Wire open(String address, int port, int sources, SoftSettings.Segmentation segments, Path ring)
            throws IOException {
        LocalAddresses addresses = new LocalAddresses(List.of(InetAddress.ofLiteral(address)), 65536);
        return Wire.open(
                "soft0",
                addresses,
                new SoftSettings(
                        port, null, SoftSettings.Idle.PARK, null, null, true, segments, ring, true, null, sources));
    }

    private static Wire open(String address, int sources) throws IOException {
        Wire wire = open(address, UdpFlow.ROCE_PORT, sources, SoftSettings.Segmentation.AUTO, null);
        if (wire.port() != UdpFlow.ROCE_PORT) {
            wire.close();
        }
        assumeTrue(wire.port() == UdpFlow.ROCE_PORT, "something else has UDP port 4791 at all addresses");
        return wire;
    }

    private static InetSocketAddress socket(String address, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    }

    private static Peer peer(Wire from, String address) {
        return from.peer(socket(address, UdpFlow.ROCE_PORT));
    }

    private static void send(Wire from, Peer to, int socket, int number) {
        long packet = from.begin(to, 0, socket);
        assertTrue(packet != 0, "there is no room");
        Memory.zero(packet, BYTES);
        Bth.write(packet, Opcode.RC_SEND_ONLY, false, 0, Bth.DEFAULT_PKEY, 5, false, number);
        from.send(BYTES);
    }

    /** Receives a packet of each of some numbers, in any order. Returns the ports that they came from, by number. */
    private static int[] ports(Wire at, int count) {
        int[] ports = new int[count];
        Bound bound = Bound.usual();
        for (int[] left = {count}; left[0] > 0; ) {
            bound.check(() -> left[0] + " packets have not come, or their checksum is wrong");
            at.receive(1, (packet, bytes, from, index) -> {
                assertEquals(BYTES, bytes);
                assertEquals(0, ports[Bth.psn(packet)]);
                ports[Bth.psn(packet)] = from.address.getPort();
                left[0]--;
                return true;
            });
        }
        return ports;
    }

    /** The number of the socket of a connection with queue pair 1 of a peer. */
    private static int socketOf(Wire wire, Peer to, int queuePair) {
        return wire.socketFor(to, 0, queuePair, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {OWN, "::1"})
    void shouldGiveEachConnectionItsPort(String address) throws IOException {
        boolean version4 = address.equals(OWN);
        try (Wire from = open(address, 16);
                Wire to = version4 ? open(OTHER, 0) : null) {
            // There is only one loopback address of IPv6: the device sends to itself.
            Wire at = version4 ? to : from;
            Peer peer = peer(from, version4 ? OTHER : address);
            int first = socketOf(from, peer, FIRST);
            int second = socketOf(from, peer, SECOND);
            assertEquals(first, socketOf(from, peer, FIRST));
            for (int i = 0; i < MANY; i++) {
                send(from, peer, i % 2 == 0 ? first : second, i);
            }
            send(from, peer, 0, MANY);
            assertTrue(from.flush());
            int[] ports = ports(at, MANY + 1);
            for (int i = 0; i < MANY; i++) {
                assertEquals(UdpFlow.sourcePort(i % 2 == 0 ? FIRST : SECOND, 1), ports[i]);
            }
            assertEquals(UdpFlow.ROCE_PORT, ports[MANY]);
        }
    }

    /** Each is divided by the kernel, or goes by itself, with the checksum of its port. */
    @ParameterizedTest
    @EnumSource(SoftSettings.Segmentation.class)
    void shouldSendManyAtOnceFromEachPort(SoftSettings.Segmentation segments) throws IOException {
        try (Wire from = open(OWN, UdpFlow.ROCE_PORT, 2, segments, null);
                Wire to = open(OTHER, 0)) {
            assumeTrue(from.port() == UdpFlow.ROCE_PORT);
            Peer peer = peer(from, OTHER);
            for (int i = 0; i < MANY; i++) {
                send(from, peer, socketOf(from, peer, i < MANY / 2 ? FIRST : SECOND), i);
            }
            assertTrue(from.flush());
            Set<Integer> different = new HashSet<>();
            for (int each : ports(to, MANY)) {
                different.add(each);
            }
            assertEquals(2, different.size());
        }
    }

    @Test
    void shouldHaveNoMorePortsThanItMay() throws IOException {
        try (Wire wire = open(OWN, 3)) {
            Peer peer = peer(wire, OTHER);
            Set<Integer> sockets = new HashSet<>();
            for (int i = 1; i < 1000; i++) {
                sockets.add(wire.socketFor(peer, 0, i, 0x1234));
            }
            assertEquals(Set.of(1, 2, 3), sockets);
        }
    }

    @Test
    void shouldUseTheNextPortIfOneIsTaken() throws IOException {
        int wanted = UdpFlow.sourcePort(FIRST, 1);
        try (DatagramChannel taken = DatagramChannel.open();
                Wire from = open(OWN, 16);
                Wire to = open(OTHER, 0)) {
            taken.bind(socket(OWN, wanted));
            Peer peer = peer(from, OTHER);
            send(from, peer, socketOf(from, peer, FIRST), 0);
            assertTrue(from.flush());
            assertEquals(wanted + 1, ports(to, 1)[0]);
        }
    }

    /** Numbers sockets from 1, and owns them. */
    private static final class Opened implements SourcePorts.Opened, AutoCloseable {
        private final List<DatagramChannel> channels = new ArrayList<>();

        @Override
        public int add(DatagramChannel channel, InetSocketAddress from) {
            channels.add(channel);
            return channels.size();
        }

        @Override
        public void close() throws IOException {
            for (DatagramChannel each : channels) {
                each.close();
            }
        }
    }

    /** Behind the last port there is none that may be used. */
    @Test
    void shouldGoOnWithTheFirstPortBehindTheLastOne() throws IOException {
        int last = 0xffff;
        InetSocketAddress own = socket(OWN, UdpFlow.ROCE_PORT);
        try (DatagramChannel taken = DatagramChannel.open();
                Opened opened = new Opened()) {
            SourcePorts sources = new SourcePorts("soft0", 4, opened, own);
            taken.bind(socket(OWN, last));
            assertEquals(1, sources.socket(0, last));
            assertEquals(
                    socket(OWN, UdpFlow.FIRST_SOURCE_PORT),
                    opened.channels.getFirst().getLocalAddress());
        }
    }

    /** Where none is free, a connection goes on with the port that receives: its peer would drop packets of another one. */
    @Test
    void shouldKeepWhatAConnectionHasGot() throws IOException {
        InetSocketAddress own = socket(OWN, UdpFlow.ROCE_PORT);
        List<DatagramChannel> taken = new ArrayList<>();
        int first = 0xd000;
        try (Opened opened = new Opened()) {
            SourcePorts sources = new SourcePorts("soft0", 4, opened, own);
            for (int i = 0; i < 64; i++) {
                taken.add(DatagramChannel.open().bind(socket(OWN, first + i)));
            }
            assertEquals(0, sources.socket(0, first));
            for (DatagramChannel each : taken) {
                each.close();
            }
            assertEquals(0, sources.socket(0, first));
            assertEquals(1, sources.socket(0, first + 1));
        } finally {
            for (DatagramChannel each : taken) {
                each.close();
            }
        }
    }

    @Test
    void shouldHoldPortsUntilTheDeviceCloses() throws IOException {
        InetSocketAddress port = socket(OWN, UdpFlow.sourcePort(FIRST, 1));
        try (Wire wire = open(OWN, 16)) {
            socketOf(wire, peer(wire, OTHER), FIRST);
            assertTrue(UdpSockets.query().isBound(port));
        }
        try (DatagramChannel free = DatagramChannel.open()) {
            free.bind(port);
            assertEquals(port, free.getLocalAddress());
        }
    }

    /** Nothing reads them, so the kernel must not keep much. */
    @Test
    void shouldKeepLittleOfWhatArrivesAtSourcePorts() throws IOException {
        InetSocketAddress own = socket(OWN, UdpFlow.ROCE_PORT);
        try (Opened opened = new Opened();
                DatagramChannel stranger = DatagramChannel.open()) {
            new SourcePorts("soft0", 1, opened, own).socket(0, 0xd100);
            DatagramChannel channel = opened.channels.getFirst();
            assertTrue(channel.getOption(StandardSocketOptions.SO_RCVBUF) < 8192);
            ByteBuffer bytes = ByteBuffer.allocate(1000);
            for (int i = 0; i < MANY; i++) {
                stranger.send(bytes.clear(), channel.getLocalAddress());
            }
            int kept = 0;
            while (channel.receive(bytes.clear()) != null) {
                kept++;
            }
            assertTrue(kept < MANY / 2, kept + " datagrams are kept");
        }
    }

    /** Without the setting, at another port, and where there may be shared memory, packets come from one port. */
    @ParameterizedTest
    @CsvSource({"4791, 0, false", "22_300, 16, false", "4791, 16, true"})
    void shouldSendFromThePortThatReceives(String port, int sources, boolean ring, @TempDir Path folder)
            throws IOException {
        int number = Integer.parseInt(port.replace("_", ""));
        try (Wire wire = open(OWN, number, sources, SoftSettings.Segmentation.AUTO, ring ? folder : null)) {
            assertEquals(0, socketOf(wire, peer(wire, OTHER), FIRST));
            assertEquals(0, wire.socketFor(null, 0, FIRST, 1));
        }
    }

    /** With another machine there is no shared memory. */
    @Test
    void shouldUseSourcePortsToOtherMachinesInAnyCase(@TempDir Path folder) throws IOException {
        try (Wire wire = open(OWN, UdpFlow.ROCE_PORT, 16, SoftSettings.Segmentation.AUTO, folder)) {
            assumeTrue(wire.port() == UdpFlow.ROCE_PORT);
            assertNotEquals(0, socketOf(wire, peer(wire, "10.9.8.7"), FIRST));
        }
    }
}
