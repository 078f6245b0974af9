package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.Completions;

/** Connections that send from UDP ports of their own. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConnectionPortsTest {
    private static final int REQUESTS = 20;
    private static final int HALF = SoftPair.BYTES / 2;
    private static final long MARK = 0x1122_3344_5566_7788L;

    /** Two queue pairs that are connected with each other. */
    private static final class Connection {
        private final SoftPair pair;
        private final CompletionQueue queue;
        private final QueuePair a;
        private final QueuePair b;

        /** The number of the first packet that a sends. */
        private final int first;

        private Connection(SoftPair pair) {
            this.pair = pair;
            queue = pair.context.createCompletionQueue(64);
            a = create();
            b = create();
            Endpoint of = a.localEndpoint(new ConnectOptions());
            first = of.packetSequenceNumber();
            a.connect(b.localEndpoint(new ConnectOptions()));
            b.connect(of);
        }

        private QueuePair create() {
            return pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        }

        /** Posts a request to a, and waits until it has completed. */
        private void complete(SendWorkRequest request) {
            a.postSend(request);
            WorkCompletions done = new WorkCompletions(pair.arena, 1);
            Completions.awaitAny(queue, done, SoftPair.LIMIT);
            assertEquals(CompletionStatus.SUCCESS, done.status(0));
        }

        /** Which ports packets should come from, if they are free. */
        private int port() {
            return UdpFlow.sourcePort(a.number(), b.number());
        }
    }

    private static InetSocketAddress device(SoftPair pair) {
        SoftDevice soft = SoftDevice.contextAt(pair.context.nativeAddress()).device();
        assumeTrue(soft.wire().port() == UdpFlow.ROCE_PORT, "another process has UDP port 4791");
        return new InetSocketAddress(soft.addresses().address(0), soft.wire().port());
    }

    /** Returns whether two connections do not share a port by chance. */
    private static boolean areApart(Connection one, Connection other) {
        return one.port() % 64 != other.port() % 64;
    }

    @Test
    void shouldSendTheConnectionsOfAProcessFromDifferentPorts(@TempDir Path folder) throws IOException {
        Path capture = folder.resolve("packets");
        Connection one;
        Connection other;
        try (SoftPair pair = new SoftPair(
                QueuePairType.RC, new ConnectOptions(), "source.ports", "64", "pcap", capture.toString())) {
            device(pair);
            one = new Connection(pair);
            Connection next = new Connection(pair);
            while (!areApart(one, next)) {
                next = new Connection(pair);
            }
            other = next;
            pair.memory.asSlice(0, HALF).fill((byte) 7);
            for (int i = 0; i < REQUESTS; i++) {
                for (Connection each : new Connection[] {one, other}) {
                    each.complete(pair.request()
                            .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                            .add(pair.region, 0, HALF));
                    each.complete(pair.request()
                            .rdmaRead(pair.memory.address(), pair.region.rkey())
                            .add(pair.region, HALF, 64));
                }
            }
            assertEquals(-1, pair.memory.asSlice(0, HALF).mismatch(pair.memory.asSlice(HALF, HALF)));
        }
        Map<Integer, Set<Integer>> ports = CapturedPackets.sourcePorts(capture);
        for (Connection each : new Connection[] {one, other}) {
            // Requests and answers alike.
            assertEquals(1, ports.get(each.a.number()).size(), ports::toString);
            assertEquals(ports.get(each.a.number()), ports.get(each.b.number()));
        }
        assertNotEquals(ports.get(one.a.number()), ports.get(other.a.number()));
    }

    /** Another program at the address of the peer that knows all numbers. */
    @Test
    void shouldDropPacketsOfOtherPortsOfThePeer() throws IOException {
        try (SoftPair pair =
                        new SoftPair(QueuePairType.RC, new ConnectOptions(), "source.ports", "16", "wire", "true");
                DatagramChannel stranger = DatagramChannel.open(StandardProtocolFamily.INET)) {
            InetSocketAddress device = device(pair);
            Connection connection = new Connection(pair);
            stranger.bind(new InetSocketAddress(device.getAddress(), 0));
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, Long.BYTES);
            connection.complete(write);
            inject(stranger, connection, device);
            pair.memory.set(JAVA_LONG, 0, MARK);
            connection.complete(write);
            assertEquals(MARK, pair.memory.get(JAVA_LONG, HALF));
            assertEquals(0, pair.memory.get(JAVA_LONG, HALF + Long.BYTES));
        }
    }

    /** Sends a write with the number that queue pair b waits for, behind the place of the others. */
    private static void inject(DatagramChannel from, Connection to, InetSocketAddress device) throws IOException {
        ByteBuffer packet =
                ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long address = MemorySegment.ofBuffer(packet).address();
        int opcode = Opcode.RC_RDMA_WRITE_ONLY;
        int headers = Opcode.headerBytes(opcode);
        Bth.write(address, opcode, false, 0, Bth.DEFAULT_PKEY, to.b.number(), true, Psn.add(to.first, 1));
        long place = to.pair.memory.address() + HALF + Long.BYTES;
        Reth.write(address + Reth.OFFSET, place, to.pair.region.rkey(), Long.BYTES);
        packet.putLong(headers, MARK);
        UdpFlow flow = UdpFlow.of((InetSocketAddress) from.getLocalAddress(), device);
        from.send(
                packet.limit(new InvariantCrc().append(flow, packet, headers + Long.BYTES))
                        .position(0),
                device);
    }
}
