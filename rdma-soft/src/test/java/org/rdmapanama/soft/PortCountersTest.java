package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.Wire;
import org.rdmapanama.soft.wire.WireCount;
import org.rdmapanama.testing.Bound;

/** What soft0 counts of its port. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PortCountersTest {
    private static final int WRITES = 50;
    private static final int BYTES = 3000;

    /** That of queue pairs that connect by themselves. */
    private static final int QKEY = 0x1111_1111;

    private static SoftPair pair(QueuePairType type, String... settings) {
        ConnectOptions options = new ConnectOptions();
        if (type == QueuePairType.RC) {
            options.timeout(10).retryCount(7).minRnrTimer(1).rnrRetry(7);
        }
        return new SoftPair(type, options, settings);
    }

    private static long count(Context context, WireCount what) {
        return context.portCounters(1).get(what.counter());
    }

    private static void write(SoftPair pair) {
        SendWorkRequest request = pair.request()
                .rdmaWrite(pair.region.address() + SoftPair.BYTES / 2, pair.region.rkey())
                .add(pair.region, 0, BYTES);
        for (int i = 0; i < WRITES; i++) {
            pair.complete(request);
        }
    }

    private static void awaitOne(Context context, WireCount what) throws InterruptedException {
        Bound.usual().await("no " + what, () -> count(context, what) == 1);
    }

    private static void complete(SoftPair pair, QueuePair from, SendWorkRequest request) {
        from.postSend(request);
        pair.next();
    }

    @Test
    void shouldCountMessagesThatNeedNoPackets() {
        try (SoftPair pair = pair(QueuePairType.RC)) {
            write(pair);
            assertEquals(WRITES, count(pair.context, WireCount.LOCAL_MESSAGES));
            assertEquals((long) WRITES * BYTES, count(pair.context, WireCount.LOCAL_BYTES));
            assertEquals(0, count(pair.context, WireCount.SENT_PACKETS));
        }
    }

    @Test
    void shouldCountPackets() throws InterruptedException {
        Context context;
        SortedMap<String, Long> last;
        try (SoftPair pair = pair(QueuePairType.RC, "wire", "true")) {
            context = pair.context;
            write(pair);
            assertEquals(0, count(context, WireCount.LOCAL_MESSAGES));
            // A write has at least one packet, and an acknowledgement.
            assertTrue(count(context, WireCount.SENT_PACKETS) >= 2 * WRITES);
            assertTrue(count(context, WireCount.SENT_BYTES) >= (long) WRITES * BYTES);
            Bound.usual()
                    .await(
                            "not all packets came",
                            () -> count(context, WireCount.SENT_PACKETS) == count(context, WireCount.RECEIVED_PACKETS));
            last = context.portCounters(1);
            assertEquals(last.get("sent_bytes"), last.get("received_bytes"));
            assertThrows(IllegalArgumentException.class, () -> context.portCounters(0));
            assertThrows(IllegalArgumentException.class, () -> context.portCounters(2));
        }
        assertEquals(last.get("sent_bytes"), count(context, WireCount.SENT_BYTES), "also afterwards");
    }

    @Test
    void shouldCountWhatIsRepeated() {
        try (SoftPair pair = pair(QueuePairType.RC, "wire", "true", "faults", "loss=0.2,seed=3")) {
            write(pair);
            assertTrue(count(pair.context, WireCount.REPEATED_PACKETS) > 0);
            assertTrue(count(pair.context, WireCount.DUPLICATE_REQUESTS) > 0);
        }
    }

    @Test
    void shouldCountWhatFindsNoReceive() throws InterruptedException {
        for (String wire : new String[] {"true", "false"}) {
            try (SoftPair pair = pair(QueuePairType.RC, "wire", wire)) {
                Context context = pair.context;
                pair.a.postSend(pair.request().send().add(pair.region, 0, 8));
                WireCount told = wire.equals("true") ? WireCount.RECEIVED_RNR_NAKS : WireCount.LOCAL_NOT_READY;
                Bound.usual().await("no RNR NAK came", () -> count(context, told) > 2);
                pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 64, 8));
                pair.next();
                pair.next();
                if (wire.equals("true")) {
                    assertTrue(count(context, WireCount.SENT_RNR_NAKS) >= count(context, told));
                }
            }
        }
        for (String wire : new String[] {"true", "false"}) {
            try (SoftPair pair = pair(QueuePairType.UC, "wire", wire)) {
                pair.complete(pair.request().send().add(pair.region, 0, 8));
                Bound.usual()
                        .await(
                                "the message was not dropped",
                                () -> count(pair.context, WireCount.DROPPED_NO_RECEIVE) == 1);
                assertEquals(0, count(pair.context, WireCount.LOCAL_MESSAGES));
            }
        }
    }

    @Test
    void shouldCountLostMessagesByTheirReason() throws InterruptedException {
        for (String wire : new String[] {"true", "false"}) {
            try (SoftPair pair = pair(QueuePairType.UC, "wire", wire)) {
                Context context = pair.context;
                pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 64, 4));
                pair.complete(pair.request().send().add(pair.region, 0, 8));
                awaitOne(context, WireCount.DROPPED_TOO_LONG);
                // Nothing tells of a write that is not permitted.
                pair.complete(pair.request()
                        .rdmaWrite(pair.region.address(), pair.region.rkey() ^ 0xff00)
                        .add(pair.region, 0, 8));
                Bound.usual()
                        .await(
                                "the write did not come",
                                () -> count(context, WireCount.SENT_PACKETS)
                                        == count(context, WireCount.RECEIVED_PACKETS));
                pair.b.modify(new QueuePairAttributes().state(QueuePairState.RESET));
                assertEquals(0, count(context, WireCount.DROPPED_STATE));
                pair.complete(pair.request().send().add(pair.region, 0, 8));
                awaitOne(context, WireCount.DROPPED_STATE);
                pair.b.close();
                pair.complete(pair.request().send().add(pair.region, 0, 8));
                awaitOne(context, WireCount.DROPPED_NO_QUEUE_PAIR);
                assertEquals(0, count(context, WireCount.DROPPED_STRANGER));
                assertEquals(0, count(context, WireCount.DROPPED_NO_RECEIVE));
                assertEquals(0, count(context, WireCount.LOCAL_MESSAGES));
            }
        }
    }

    @Test
    void shouldCountDatagrams() {
        try (SoftPair pair = pair(QueuePairType.RC)) {
            Context context = pair.context;
            QueuePairOptions options = new QueuePairOptions(QueuePairType.UD, pair.queue);
            QueuePair from = pair.domain.createQueuePair(options);
            QueuePair to = pair.domain.createQueuePair(options);
            Endpoint peer = to.localEndpoint();
            AddressHandle way = pair.domain.createAddressHandle(from.pathTo(peer));
            from.localEndpoint();
            from.activate();
            SendWorkRequest request = pair.request().send().add(pair.region, 0, 8);
            complete(pair, from, request.to(way, to.number(), QKEY));
            assertEquals(1, count(context, WireCount.DROPPED_STATE));
            to.activate();
            complete(pair, from, request.to(way, to.number(), QKEY));
            assertEquals(1, count(context, WireCount.DROPPED_NO_RECEIVE));
            to.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 64, 64));
            complete(pair, from, request.to(way, to.number(), QKEY + 1));
            assertEquals(1, count(context, WireCount.DROPPED_QKEY));
            complete(pair, from, request.to(way, 0xabcdef, QKEY));
            assertEquals(1, count(context, WireCount.DROPPED_NO_QUEUE_PAIR));
            assertEquals(0, count(context, WireCount.LOCAL_MESSAGES));
            complete(pair, from, request.to(way, to.number(), QKEY));
            assertEquals(1, count(context, WireCount.LOCAL_MESSAGES));
            assertEquals(8, count(context, WireCount.LOCAL_BYTES));
        }
    }

    @Test
    void shouldCountRefusals() {
        try (SoftPair pair = pair(QueuePairType.RC, "wire", "true")) {
            pair.a.postSend(pair.request()
                    .rdmaWrite(pair.region.address(), pair.region.rkey() ^ 0xff00)
                    .add(pair.region, 0, 8));
            pair.next();
            assertEquals(1, count(pair.context, WireCount.SENT_ERROR_NAKS));
            assertEquals(1, count(pair.context, WireCount.RECEIVED_ERROR_NAKS));
        }
    }

    @Test
    void shouldCountWhatIsDropped() throws IOException, InterruptedException {
        try (SoftPair pair = pair(QueuePairType.RC, "wire", "true");
                DatagramChannel channel = DatagramChannel.open()) {
            Wire wire =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device().wire();
            long before = wire.received();
            InetSocketAddress device = new InetSocketAddress(InetAddress.getByName("127.0.0.1"), wire.port());
            // A datagram that wakes up a device, or asks whether it is there, is not a packet.
            channel.send(ByteBuffer.allocate(1), device);
            channel.send(ByteBuffer.allocate(12), device);
            channel.send(ByteBuffer.allocate(100), device);
            Bound.usual()
                    .await(
                            "nothing was dropped",
                            () -> wire.received() >= before + 3 && count(pair.context, WireCount.DROPPED_CHECKSUM) > 0);
            assertEquals(1, count(pair.context, WireCount.DROPPED_CHECKSUM));
        }
    }

    @Test
    void shouldCountWaitsForTheWindow() {
        try (SoftPair pair = pair(QueuePairType.RC, "wire", "true")) {
            // More at once than the window admits at first.
            SendWorkRequest request = pair.request()
                    .rdmaWrite(pair.region.address() + SoftPair.BYTES / 2, pair.region.rkey())
                    .add(pair.region, 0, SoftPair.BYTES / 2);
            pair.complete(request);
            assertTrue(count(pair.context, WireCount.WINDOW_STALLS) > 0);
        }
    }
}
