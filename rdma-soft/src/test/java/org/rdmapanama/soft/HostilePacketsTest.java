package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.DatagramChannel;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.RingAccess;
import org.rdmapanama.soft.net.RingAttacker;
import org.rdmapanama.soft.net.SegmentSocket;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.UdpFlow;
import org.rdmapanama.testing.LiveHeap;

/**
 * A million packets of somebody who means no good: of any bytes, and of right headers with wrong contents and a right
 * checksum, to queue pairs that are open. They come from the address of the peer, so that nothing but the contents
 * stands between them and the memory.
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostilePacketsTest {
    private static final int PACKETS = Integer.getInteger("hostile.packets", 1_000_000);
    private static final long SEED = Long.getLong("hostile.seed", 20261122);

    private static final int GUARD = 4096;
    private static final int GRANTED = 8192;
    private static final byte UNTOUCHED = 0x5a;
    private static final int PACKETS_PER_LOOK = 64;
    private static final int BATCH = 32;
    private static final int MOST = 1200;
    private static final int PEER = 0x1234;
    private static final long MEMORY_MARGIN = 64L << 20;

    private final SplittableRandom random = new SplittableRandom(SEED);
    private final InvariantCrc crc = new InvariantCrc();
    private final ByteBuffer packet =
            ByteBuffer.allocateDirect(InvariantCrc.MAX_PACKET_BYTES + 8).order(ByteOrder.LITTLE_ENDIAN);
    private final long address = MemorySegment.ofBuffer(packet).address();

    private final ByteBuffer batch = ByteBuffer.allocateDirect(BATCH * 2 * MOST);

    private InetSocketAddress peer;
    private UdpFlow flow;
    private ReceiveWorkRequest receive;
    private int[] victims;

    /** Those of the packets that they wait for, at first. */
    private int[] numbers;

    private int[] keys;
    private long[] places;

    private int any(int... of) {
        return of[random.nextInt(of.length)];
    }

    /** Any bytes, or a packet with some right things in it; its length. */
    private int write() {
        int length = random.nextInt(MOST);
        for (int i = 0; i < length; i += Long.BYTES) {
            packet.putLong(i, random.nextLong());
        }
        if (random.nextInt(8) == 0) {
            return length;
        }
        int opcode = random.nextInt(Opcode.RC_SEND_ONLY_WITH_INVALIDATE + 1)
                + any(0, 0, 0, Opcode.UC_SEND_FIRST, Opcode.UD_SEND_ONLY);
        int headers = Math.max(Opcode.headerBytes(opcode), Bth.BYTES);
        int payload = any(0, 1, 4, 256, 1024, random.nextInt(MOST - headers));
        int pad = random.nextInt(4) == 0 ? random.nextInt(4) : -payload & 3;
        int victim = random.nextInt(victims.length);
        int psn = random.nextInt(8) == 0 ? random.nextInt() : numbers[victim] + random.nextInt(12) - 2;
        Bth.write(
                address,
                opcode,
                random.nextBoolean(),
                pad,
                random.nextInt(64) == 0 ? random.nextInt() : Bth.DEFAULT_PKEY,
                victims[victim],
                random.nextBoolean(),
                psn);
        if (random.nextInt(2) == 0) {
            // An address and a key, where a RETH and an AtomicETH have them.
            packet.order(ByteOrder.BIG_ENDIAN);
            packet.putLong(Bth.BYTES, places[random.nextInt(places.length)] + random.nextInt(-64, 64));
            packet.putInt(Bth.BYTES + 8, any(keys));
            packet.putInt(Bth.BYTES + 12, any(payload, 1, 4096, -1, random.nextInt()));
            packet.order(ByteOrder.LITTLE_ENDIAN);
        }
        return headers + payload + (random.nextInt(8) == 0 ? 0 : pad);
    }

    /** Sends some packets. */
    private interface Attack {
        void send() throws IOException;
    }

    private int writeWithChecksum() {
        int length = write();
        return random.nextInt(16) == 0 ? length : crc.append(flow, packet, Math.max(length, Bth.BYTES));
    }

    /** Each packet by itself. */
    private void sendEach(DatagramChannel attacker, InetSocketAddress device) throws IOException {
        for (int i = 0; i < PACKETS_PER_LOOK; i++) {
            int length = writeWithChecksum();
            attacker.send(packet.limit(length).position(0), device);
            packet.clear();
        }
    }

    /** All of one size, which arrive with one system call. */
    private void sendBatches(SegmentSocket attacker) {
        for (int sent = 0; sent < PACKETS_PER_LOOK; sent += BATCH) {
            batch.clear();
            int size = 0;
            for (int i = 0; i < BATCH; i++) {
                int length = write();
                size = i == 0 ? Math.max(length, Bth.BYTES) + InvariantCrc.BYTES : size;
                packet.clear();
                if (random.nextInt(16) != 0) {
                    crc.append(flow, packet, 0, size - InvariantCrc.BYTES, i);
                }
                batch.put(packet.limit(size).position(0));
                packet.clear();
            }
            // The last one may be shorter.
            batch.position(batch.position() - random.nextInt(size));
            attacker.send(batch, size);
        }
    }

    /** Through shared memory, as a process of the same user may. One packet can stand for several there. */
    private void sendThroughRing(SoftDevice device, RingAttacker attacker) {
        device.lock();
        try {
            attacker.takeAnswers();
            for (int i = 0; i < PACKETS_PER_LOOK; i++) {
                if (!attacker.send(address, Math.max(write(), Bth.BYTES))) {
                    return;
                }
            }
        } finally {
            device.unlock();
        }
    }

    private static RingAttacker attacker(SoftDevice device, InetSocketAddress from, Path directory) throws IOException {
        device.lock();
        try {
            return new RingAttacker(device.wire(), from, directory);
        } finally {
            device.unlock();
        }
    }

    /** How the packets come. */
    private enum Way {
        ONE_BY_ONE,
        BATCHES,
        RING
    }

    @ParameterizedTest
    @EnumSource
    void shouldStandAMillionPackets(Way way, @TempDir Path directory) throws Exception {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions().timeout(12), "wire", "true");
                DatagramChannel attacker = DatagramChannel.open(StandardProtocolFamily.INET)) {
            SoftDevice victim =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            Wire wire = victim.wire();
            InetAddress own = victim.addresses().address(0);
            assertTrue(own instanceof Inet4Address);
            attacker.bind(new InetSocketAddress(own, 0));
            InetSocketAddress device = new InetSocketAddress(own, wire.port());
            peer = (InetSocketAddress) attacker.getLocalAddress();
            flow = UdpFlow.of(peer, device);
            SegmentSocket segments = new SegmentSocket(attacker, device);
            assumeTrue(
                    way != Way.BATCHES || segments.canJoin(),
                    "the kernel cannot hand over several datagrams at once (UDP_GRO)");

            // What is granted lies between what is not, in the same page.
            MemorySegment all = pair.arena.allocate(GUARD + GRANTED + GUARD, 4096);
            all.fill(UNTOUCHED);
            MemoryRegion granted = pair.domain.register(
                    all.asSlice(GUARD, GRANTED),
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_ATOMIC);
            MemoryRegion readOnly = pair.domain.register(all.asSlice(GUARD + GRANTED, 1024), AccessFlag.REMOTE_READ);
            keys = new int[] {granted.rkey(), granted.rkey(), readOnly.rkey(), granted.rkey() + 1, 0};
            places = new long[] {
                granted.address(), granted.address() + GRANTED, all.address(), readOnly.address(), pair.memory.address()
            };
            QueuePair[] open = new QueuePair[8];
            receive = ReceiveWorkRequest.allocate(pair.arena, 1).add(granted, 1000, 2000);
            connectVictims(pair, open, way);
            RingAttacker ring = way == Way.RING ? attacker(victim, peer, directory) : null;
            Attack attack = switch (way) {
                case ONE_BY_ONE -> () -> sendEach(attacker, device);
                case BATCHES -> () -> sendBatches(segments);
                case RING -> () -> sendThroughRing(victim, ring);
            };

            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + SoftPair.BYTES / 2, pair.region.rkey())
                    .add(pair.region, 0, 2000);
            long before = LiveHeap.bytes();
            int looks = PACKETS / PACKETS_PER_LOOK;
            for (int look = 0; look < looks; look++) {
                attack.send();
                // The connection in use is none of those, and does its work.
                pair.memory.set(JAVA_BYTE, 0, (byte) look);
                pair.complete(write);
                assertEquals((byte) look, pair.memory.get(JAVA_BYTE, SoftPair.BYTES / 2));
                if (look % (looks / 50) == 0) {
                    connectVictims(pair, open, way);
                }
            }
            segments.close();
            if (ring != null) {
                long through = RingAccess.received(wire);
                assertTrue(ring.isUsed(), "the link has ended");
                assertTrue(through > PACKETS / 2, () -> through + " packets came through shared memory");
                ring.close();
            }
            assertEquals(-1, all.asSlice(0, GUARD).mismatch(untouched(pair, GUARD)), "written before the region");
            assertEquals(
                    -1, all.asSlice(GUARD + GRANTED).mismatch(untouched(pair, GUARD)), "written behind the region");
            assertEquals(
                    SoftPair.BYTES / 2 - 2000L,
                    zeros(pair.memory.asSlice(SoftPair.BYTES / 2 + 2000)),
                    "written to what has another key");
            assertTrue(
                    all.asSlice(GUARD, GRANTED).mismatch(untouched(pair, GRANTED)) >= 0,
                    "none of them got as far as what is granted");
            long arrived = wire.received();
            assertTrue(arrived > PACKETS / 2, () -> arrived + " packets arrived");
            if (way == Way.BATCHES) {
                long joined = wire.joined();
                assertTrue(joined > PACKETS / 2, () -> joined + " packets came together with others");
            }
            long after = LiveHeap.bytes();
            assertTrue(after < before + MEMORY_MARGIN, () -> "from " + before + " to " + after + " bytes");
        }
    }

    /** Makes the queue pairs that the packets go to anew: some of them have failed. */
    private void connectVictims(SoftPair pair, QueuePair[] open, Way way) {
        ConnectOptions options = new ConnectOptions();
        if (way == Way.RING) {
            // So that many packets are as long as several.
            options.pathMtu(Mtu.ofBytes(256));
        }
        victims = new int[open.length + 2];
        numbers = new int[victims.length];
        for (int i = 0; i < open.length; i++) {
            if (open[i] != null) {
                open[i].close();
            }
            boolean datagrams = i == 0;
            QueuePairType type = datagrams ? QueuePairType.UD : i == 1 ? QueuePairType.UC : QueuePairType.RC;
            open[i] = pair.domain.createQueuePair(
                    new QueuePairOptions(type, pair.context.createCompletionQueue(256)).maxSegments(1, 1));
        }
        open[0].activate();
        for (int i = 0; i < open.length; i++) {
            victims[i] = open[i].number();
            numbers[i] = i == 0 ? 0 : random.nextInt() & Bth.MASK_24;
            if (i > 0) {
                // The attacker is the peer: packets of other sockets would not get far.
                open[i].localEndpoint(options);
                open[i].connect(new Endpoint(0, PEER, numbers[i], PacketPeer.gid(peer)));
            }
            for (int count = 0; count < 4; count++) {
                open[i].postReceive(receive);
            }
        }
        victims[open.length] = random.nextInt();
        victims[open.length + 1] = 1;
    }

    private static MemorySegment untouched(SoftPair pair, int bytes) {
        MemorySegment segment = pair.arena.allocate(bytes);
        segment.fill(UNTOUCHED);
        return segment;
    }

    private static long zeros(MemorySegment segment) {
        long count = 0;
        for (long i = 0; i < segment.byteSize(); i++) {
            count += segment.get(JAVA_BYTE, i) == 0 ? 1 : 0;
        }
        return count;
    }
}
