package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;

/** A wire that loses, doubles, reorders and spoils packets: a reliable connection brings all bytes, in order, once. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FaultyWireTest {
    private static final int HALF = SoftPair.BYTES / 2;
    private static final int ROUNDS = 150;
    private static final int MAX_BYTES = 20_000;
    private static final int MTU = 1024;

    // Of captures.
    private static final int PSN = 8;
    private static final int READ_LENGTH = Bth.BYTES + Long.BYTES + Integer.BYTES;

    /** 4 milliseconds, and as often as can be. */
    private static ConnectOptions options() {
        return new ConnectOptions().timeout(10).retryCount(7).minRnrTimer(1).rnrRetry(7);
    }

    private static void check(SoftPair pair, Random random) {
        MemorySegment source = pair.memory.asSlice(0, HALF);
        MemorySegment target = pair.memory.asSlice(HALF, HALF);
        SendWorkRequest request = pair.request();
        byte[] bytes = new byte[HALF];
        for (int round = 0; round < ROUNDS; round++) {
            random.nextBytes(bytes);
            source.copyFrom(MemorySegment.ofArray(bytes));
            int length = random.nextInt(MAX_BYTES);
            int from = random.nextInt(HALF - length);
            int to = random.nextInt(HALF - length);
            byte[] before = target.toArray(JAVA_BYTE);
            request.clear().signaled(true);
            if (random.nextBoolean()) {
                request.rdmaWrite(target.address() + to, pair.region.rkey()).add(pair.region, from, length);
            } else {
                request.rdmaRead(source.address() + from, pair.region.rkey())
                        .add(pair.region, HALF + (long) to, length);
            }
            pair.complete(request);
            System.arraycopy(bytes, from, before, to, length);
            assertArrayEquals(before, target.toArray(JAVA_BYTE));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "loss=0.01,seed=1",
                "loss=0.05,seed=2",
                "duplicate=0.05,seed=3",
                "reorder=0.05,seed=4",
                "corrupt=0.05,seed=5",
                "loss=0.0125,duplicate=0.0125,reorder=0.0125,corrupt=0.0125,seed=6",
                "loss=0.05,duplicate=0.05,reorder=0.05,corrupt=0.05,seed=7",
                "full=0.05,seed=8",
                "full=0.02,loss=0.02,duplicate=0.02,reorder=0.02,corrupt=0.02,seed=9"
            })
    void shouldMoveAllBytes(String faults) {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "faults", faults)) {
            check(pair, new Random(faults.hashCode()));
            assertTrue(pair.faults() > 0);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"loss=0.05,seed=11", "loss=0.03,duplicate=0.05,reorder=0.05,corrupt=0.03,seed=12"})
    void shouldDoEachAtomicOnce(String faults) {
        int count = 1000;
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "faults", faults)) {
            SendWorkRequest add = pair.request()
                    .fetchAndAdd(pair.memory.address(), pair.region.rkey(), 3)
                    .add(pair.region, HALF, Long.BYTES);
            for (int i = 0; i < count; i++) {
                pair.complete(add);
                assertEquals(3L * i, pair.memory.get(JAVA_LONG, HALF));
            }
            assertEquals(3L * count, pair.memory.get(JAVA_LONG, 0));
            assertTrue(pair.faults() > 0);
        }
    }

    /** Receives are used in the order of the messages, though some are not there in time. */
    @ParameterizedTest
    @ValueSource(strings = {"loss=0.05,seed=21", "loss=0.03,duplicate=0.05,reorder=0.05,corrupt=0.03,seed=22"})
    void shouldReceiveInOrder(String faults) {
        int messages = 400;
        int most = 5000;
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options(), "faults", faults)) {
            Random random = new Random(9);
            for (int i = 0; i < most; i++) {
                pair.memory.set(JAVA_BYTE, i, (byte) i);
            }
            ReceiveWorkRequest receive =
                    ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, HALF, most);
            SendWorkRequest send = pair.request();
            for (int i = 0; i < messages; i++) {
                int length = random.nextInt(most);
                send.clear().signaled(true).sendWithImmediate(i).add(pair.region, 0, length);
                pair.a.postSend(send.id(1));
                if (i % 16 == 0) {
                    LockSupport.parkNanos(1_000_000);
                }
                pair.b.postReceive(receive.id(2));
                boolean received = false;
                boolean sent = false;
                while (!received || !sent) {
                    WorkCompletions wc = pair.next();
                    assertEquals(CompletionStatus.SUCCESS, wc.status(0));
                    if (wc.id(0) == 1) {
                        assertFalse(sent);
                        sent = true;
                    } else {
                        assertFalse(received);
                        received = true;
                        assertEquals(i, wc.immediate(0));
                        assertEquals(length, wc.byteLength(0));
                        assertEquals(-1, pair.memory.asSlice(0, length).mismatch(pair.memory.asSlice(HALF, length)));
                    }
                }
            }
        }
    }

    /**
     * A responder may take a read that it knows only if it is a part of what was asked for before, and answers all of it
     * each time.
     */
    @Test
    void shouldAskAgainForTheRestOnly(@TempDir Path folder) throws IOException {
        Path capture = folder.resolve("packets");
        int reads = 20;
        try (SoftPair pair = new SoftPair(
                QueuePairType.RC,
                options().pathMtu(Mtu.ofBytes(MTU)),
                "faults",
                "loss=0.01,seed=31",
                "pcap",
                capture.toString())) {
            SendWorkRequest read = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, HALF, HALF);
            for (int i = 0; i < reads; i++) {
                pair.complete(read);
            }
            assertTrue(pair.faults() > 0);
        }
        // Where what was asked for begins and ends, by the numbers of its packets.
        NavigableMap<Integer, Integer> asked = new TreeMap<>();
        int again = 0;
        int answers = 0;
        int most = 0;
        for (ByteBuffer packet : CapturedPackets.of(capture)) {
            int opcode = packet.get(0);
            if (Opcode.isReadResponse(opcode)) {
                answers++;
            } else if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
                int from = packet.getInt(PSN) & Bth.MASK_24;
                int bytes = packet.getInt(READ_LENGTH);
                int end = from + Math.ceilDiv(bytes, MTU);
                Map.Entry<Integer, Integer> before = asked.floorEntry(from);
                if (before != null && from < before.getValue()) {
                    assertEquals(before.getValue(), end, "asks again for " + from + " to " + end + " of " + before);
                    again++;
                    most += end - from;
                } else {
                    asked.put(from, end);
                    most += end - from;
                }
            }
        }
        assertTrue(again > 0);
        assertTrue(answers <= most, () -> "more answers than were asked for");
        int needed = reads * HALF / MTU;
        int finalAnswers = answers;
        assertTrue(answers < 2 * needed, () -> finalAnswers + " answers for " + needed + " packets");
    }

    /**
     * A full send buffer is not a loss, after which packets would be sent again. Without probes, which repeat a packet when
     * an answer is overdue on a busy machine.
     */
    @Test
    void shouldWaitForRoomInsteadOfLosingPackets(@TempDir Path folder) throws IOException {
        Path capture = folder.resolve("packets");
        ConnectOptions patient = new ConnectOptions().timeout(0).pathMtu(Mtu.ofBytes(MTU));
        int requests = 30;
        try (SoftPair pair = new SoftPair(
                QueuePairType.RC,
                patient,
                "faults",
                "full=0.1,seed=41",
                "probes",
                "false",
                "pcap",
                capture.toString())) {
            SendWorkRequest request = pair.request();
            for (int i = 0; i < requests; i++) {
                request.clear().signaled(true);
                if (i % 2 == 0) {
                    request.rdmaWrite(pair.memory.address() + HALF, pair.region.rkey());
                    request.add(pair.region, 0, MAX_BYTES);
                } else {
                    request.rdmaRead(pair.memory.address(), pair.region.rkey());
                    request.add(pair.region, HALF, MAX_BYTES);
                }
                pair.complete(request);
            }
            assertTrue(pair.faults() > requests, () -> pair.faults() + " times there was no room");
        }
        int again = 0;
        int data = 0;
        Set<Integer> seen = new HashSet<>();
        for (ByteBuffer packet : CapturedPackets.of(capture)) {
            int opcode = packet.get(0);
            int psn = packet.getInt(PSN) & Bth.MASK_24;
            if (Opcode.isRdmaWrite(opcode) || Opcode.isReadResponse(opcode)) {
                data++;
                again += seen.add(psn) ? 0 : 1;
            }
        }
        assertEquals(requests * Math.ceilDiv(MAX_BYTES, MTU), data - again);
        assertEquals(0, again, "packets were repeated");
    }

    /** Nothing follows the last packet of a message, so only the sender can find out that it is lost. */
    @Test
    void shouldFindLostLastPacketsWithoutSpendingARetry() {
        // 17 seconds, once: probes come in growing pauses, and a busy machine begins with long ones.
        ConnectOptions noRetries = new ConnectOptions().timeout(22).retryCount(0);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, noRetries, "faults", "loss=0.1,seed=51")) {
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address() + HALF, pair.region.rkey())
                    .add(pair.region, 0, 100);
            SendWorkRequest read = pair.request()
                    .rdmaRead(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, HALF, 5000);
            SendWorkRequest add = pair.request()
                    .fetchAndAdd(pair.memory.address(), pair.region.rkey(), 3)
                    .add(pair.region, HALF, Long.BYTES);
            for (int i = 0; i < 100; i++) {
                pair.complete(write);
                pair.complete(read);
                pair.complete(add);
            }
            assertTrue(pair.faults() > 20);
        }
    }

    /** The queue pair that is to answer is gone: the end comes when the attributes say. */
    @Test
    void shouldGiveUpInTime() {
        int timeout = 14;
        int retries = 3;
        ConnectOptions options = new ConnectOptions().timeout(timeout).retryCount(retries);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options, "wire", "true")) {
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, HALF, 100);
            pair.complete(write);
            pair.b.close();
            long start = System.nanoTime();
            pair.a.postSend(write);
            assertEquals(CompletionStatus.RETRY_EXC_ERR, pair.next().status(0));
            long taken = System.nanoTime() - start;
            long implied = (retries + 1) * (4096L << timeout);
            assertTrue(taken >= implied, () -> taken + " ns, not " + implied);
            // A busy machine may be late; not by seconds.
            assertTrue(taken < implied + 5_000_000_000L, () -> taken + " ns, not " + implied);
        }
    }
}
