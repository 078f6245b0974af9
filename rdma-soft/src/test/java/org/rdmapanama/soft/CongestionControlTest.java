package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.EcnSocket;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Cnp;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.soft.wire.WireCount;
import org.rdmapanama.testing.Bound;

/** Marks of a congested switch are answered, and the answers slow a queue pair down. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CongestionControlTest {
    private static final int HALF = SoftPair.BYTES / 2;
    private static final int CHUNK = 64 << 10;
    private static final int AT_ONCE = HALF / CHUNK;

    /** A link that is far slower than any sender, and whose queue holds less than the largest window. */
    private static final String SHORT_QUEUE = "rate=1,queue=128,kmin=16,kmax=64,pmax=0.2,seed=5";

    /** One whose queue holds more than that, so that it does not depend on the load of the machine whether it drops. */
    private static final String LONG_QUEUE = "rate=20,queue=1024,kmin=16,kmax=64,pmax=0.2,seed=5";

    private static ConnectOptions options() {
        return new ConnectOptions().timeout(14).retryCount(7).pathMtu(Mtu.BYTES_1024);
    }

    private static SoftPair pair(QueuePairType type, String address, String... settings) {
        if (address.contains(":")) {
            assumeTrue(isFree(address), "only the process at port 4791 has addresses of IPv6");
        }
        String[] all = new String[settings.length + 4];
        System.arraycopy(settings, 0, all, 0, settings.length);
        all[settings.length] = "address";
        all[settings.length + 1] = address;
        all[settings.length + 2] = "wire";
        all[settings.length + 3] = "true";
        return new SoftPair(type, options(), all);
    }

    private static boolean isFree(String address) {
        InetSocketAddress socket = new InetSocketAddress(address, UdpFlow.ROCE_PORT);
        try (DatagramChannel channel = DatagramChannel.open(Wire.family(socket.getAddress()))) {
            channel.bind(socket);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static Wire wire(SoftPair pair) {
        return SoftDevice.contextAt(pair.context.nativeAddress()).device().wire();
    }

    private static long count(SoftPair pair, WireCount what) {
        return pair.context.portCounters(1).get(what.counter());
    }

    private static void assumeMarksAreTold() {
        assumeTrue(Datagrams.areSupported(), "this system does not tell of marks");
    }

    /** Writes the half with the source to the other one, several times, and compares. */
    private static void write(SoftPair pair, int rounds) {
        MemorySegment source = pair.memory.asSlice(0, HALF);
        MemorySegment target = pair.memory.asSlice(HALF, HALF);
        byte[] bytes = new byte[HALF];
        Random random = new Random(7);
        SendWorkRequest request = pair.request();
        for (int round = 0; round < rounds; round++) {
            random.nextBytes(bytes);
            source.copyFrom(MemorySegment.ofArray(bytes));
            for (int i = 0; i < AT_ONCE; i++) {
                pair.a.postSend(request.clear()
                        .signaled(true)
                        .rdmaWrite(target.address() + (long) i * CHUNK, pair.region.rkey())
                        .add(pair.region, (long) i * CHUNK, CHUNK));
            }
            for (int i = 0; i < AT_ONCE; i++) {
                WorkCompletions completion = pair.next();
                assertEquals(CompletionStatus.SUCCESS, completion.status(0));
            }
            assertEquals(-1, source.mismatch(target));
        }
    }

    @Test
    void shouldDropWithoutReacting() {
        try (SoftPair pair = pair(QueuePairType.RC, "127.0.0.1", "faults", SHORT_QUEUE)) {
            // A dropped acknowledgement need not have a packet repeated: a later one may stand for it.
            for (int i = 0; i < 100 && count(pair, WireCount.REPEATED_PACKETS) == 0; i++) {
                write(pair, 4);
            }
            assertTrue(wire(pair).dropped() > 0);
            assertEquals(0, wire(pair).marksMade(), "a switch marks no packets of a sender that does not react");
            assertEquals(0, count(pair, WireCount.MARKED_PACKETS));
            assertEquals(0, count(pair, WireCount.SENT_NOTIFICATIONS));
            assertTrue(count(pair, WireCount.REPEATED_PACKETS) > 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void shouldNotifyAndSlowDownWhereTheLinkMarks(String address) throws InterruptedException {
        assumeMarksAreTold();
        try (SoftPair pair = pair(QueuePairType.RC, address, "faults", LONG_QUEUE, "congestion", "dcqcn,line=50")) {
            write(pair, 8);
            assertEquals(0, wire(pair).dropped());
            assertTrue(wire(pair).marksMade() > 0);
            assertTrue(count(pair, WireCount.MARKED_PACKETS) > 0
                    && count(pair, WireCount.MARKED_PACKETS) <= wire(pair).marksMade());
            assertTrue(count(pair, WireCount.SENT_NOTIFICATIONS) > 0
                    && count(pair, WireCount.SENT_NOTIFICATIONS) <= count(pair, WireCount.MARKED_PACKETS));
            // The last write may complete before all notifications are read. A full buffer of a socket loses some.
            Bound.usual()
                    .await(
                            "most notifications were lost",
                            () -> count(pair, WireCount.RECEIVED_NOTIFICATIONS)
                                    > count(pair, WireCount.SENT_NOTIFICATIONS) / 2);
            assertTrue(count(pair, WireCount.RECEIVED_NOTIFICATIONS) <= count(pair, WireCount.SENT_NOTIFICATIONS));
            assertEquals(0, count(pair, WireCount.DROPPED_STRANGER));
        }
    }

    /** Sockets that only send take part as well. */
    @Test
    void shouldMarkPacketsFromSourcePorts() {
        assumeMarksAreTold();
        try (SoftPair pair = pair(
                QueuePairType.RC,
                "127.0.0.1",
                "faults",
                "mark=0.5,seed=3",
                "congestion",
                "dcqcn",
                "source.ports",
                "4")) {
            write(pair, 2);
            assertTrue(count(pair, WireCount.MARKED_PACKETS) > 0
                    && count(pair, WireCount.MARKED_PACKETS) <= wire(pair).marksMade());
            assertTrue(count(pair, WireCount.RECEIVED_NOTIFICATIONS) > 0);
        }
    }

    /** One notification stands for all marks of a second. */
    @Test
    void shouldNotifySeldom() {
        assumeMarksAreTold();
        try (SoftPair pair = pair(
                QueuePairType.RC, "127.0.0.1", "faults", "mark=1", "congestion", "dcqcn,pause=1000000,line=1000")) {
            long start = System.nanoTime();
            write(pair, 1);
            long seconds = (System.nanoTime() - start) / 1_000_000_000;
            assertTrue(count(pair, WireCount.MARKED_PACKETS) >= HALF / 1024);
            // Two queue pairs: that which writes sees marks on acknowledgements.
            long sent = count(pair, WireCount.SENT_NOTIFICATIONS);
            assertTrue(sent >= 1 && sent <= 2 * (seconds + 1), () -> "notifications: " + sent);
        }
    }

    /** Every packet is marked, so that the rate falls to the lowest one, and everything arrives nevertheless. */
    @ParameterizedTest
    @ValueSource(strings = {"dcqcn", "dcqcn,pause=1"})
    void shouldGoOnHoweverOftenItIsNotified(String congestion) {
        assumeMarksAreTold();
        try (SoftPair pair =
                pair(QueuePairType.RC, "127.0.0.1", "faults", "mark=0.9,loss=0.01,seed=2", "congestion", congestion)) {
            write(pair, 2);
            assertTrue(count(pair, WireCount.RECEIVED_NOTIFICATIONS) > 0);
        }
    }

    private static void flood(PacketPeer peer, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            peer.send(Opcode.CNP, i, 0);
        }
    }

    /** A flood of notifications does no more than slow one queue pair down, and costs others nothing. */
    @ParameterizedTest
    @ValueSource(strings = {"none", "dcqcn"})
    void shouldBearAFloodOfNotifications(String congestion) throws IOException {
        try (SoftPair pair = pair(QueuePairType.RC, "127.0.0.1", "congestion", congestion);
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC)) {
            flood(peer, 20_000);
            write(pair, 4);
            long received = count(pair, WireCount.RECEIVED_NOTIFICATIONS);
            assertTrue(received > 0);
            // A request still goes out, at the lowest rate.
            peer.queuePair.postSend(SendWorkRequest.allocate(pair.arena, 1)
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, 0, 4 * PacketPeer.MTU)
                    .signaled(true));
            peer.request(Opcode.RC_RDMA_WRITE_FIRST, 0);
            peer.request(Opcode.RC_RDMA_WRITE_MIDDLE, 1);
            peer.request(Opcode.RC_RDMA_WRITE_MIDDLE, 2);
            peer.request(Opcode.RC_RDMA_WRITE_LAST, 3);
        }
    }

    /** A notification of another socket of the same host has no effect on the queue pair of a peer at a port of its own. */
    @Test
    void shouldDropNotificationsOfOthers() throws IOException {
        try (SoftPair pair = pair(QueuePairType.RC, "127.0.0.1", "congestion", "dcqcn");
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC);
                PacketPeer other = new PacketPeer(pair, QueuePairType.RC)) {
            other.sendTo(peer.queuePair.number(), Opcode.CNP);
            other.sendTo(other.queuePair.number(), Opcode.CNP);
            write(pair, 1);
            assertEquals(1, count(pair, WireCount.RECEIVED_NOTIFICATIONS));
        }
    }

    /** Unreliable connections are told, and slow down, as well. */
    @Test
    void shouldSlowUnreliableConnectionsDown() {
        assumeMarksAreTold();
        try (SoftPair pair = pair(QueuePairType.UC, "127.0.0.1", "faults", "mark=1", "congestion", "dcqcn,line=100")) {
            SendWorkRequest request = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, CHUNK);
            long start = System.nanoTime();
            // Completions do not wait for the packets to arrive.
            while (count(pair, WireCount.RECEIVED_NOTIFICATIONS) == 0) {
                assertTrue(System.nanoTime() - start < SoftPair.LIMIT.toNanos(), "no notification came");
                pair.complete(request);
            }
        }
    }

    /** Without the setting, nothing claims to react to marks; with it, everything does. */
    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void shouldClaimToReactOnlyIfItDoes(String address) throws IOException {
        assumeMarksAreTold();
        assertEquals(0, codepoint(address, "none"));
        assertEquals(2, codepoint(address, "dcqcn"));
    }

    /** Returns the ECN field of the packets of a device, which a socket of the kernel tells. */
    private static int codepoint(String address, String congestion) throws IOException {
        InetAddress host = InetAddress.getByName(address);
        try (SoftPair pair = pair(QueuePairType.RC, address, "congestion", congestion);
                DatagramChannel channel = DatagramChannel.open(Wire.family(host))) {
            channel.bind(new InetSocketAddress(host, 0));
            try (EcnSocket socket = new EcnSocket(channel)) {
                Wire wire = wire(pair);
                SoftDevice device =
                        SoftDevice.contextAt(pair.context.nativeAddress()).device();
                device.lock();
                try {
                    long packet = wire.beginAtSocket(wire.peer((InetSocketAddress) channel.getLocalAddress()), 0);
                    wire.send(Cnp.write(packet, 1));
                } finally {
                    device.unlock();
                }
                return socket.receive(SoftPair.LIMIT);
            }
        }
    }
}
