package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.Reregistration;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Flight;

/** What JDK Flight Recorder gets to know, of the object model and of soft0. */
@Timeout(value = 100, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class EventsTest {
    private static final int BYTES = 8192;

    private static SoftPair pair(boolean wire) {
        ConnectOptions options = new ConnectOptions().minRnrTimer(12).rnrRetry(7);
        return new SoftPair(QueuePairType.RC, options, "wire", Boolean.toString(wire));
    }

    private static SendWorkRequest writeWithWrongKey(SoftPair pair) {
        return pair.request()
                .id(5)
                .rdmaWrite(pair.memory.address(), pair.region.rkey() ^ 0xff00)
                .add(pair.region, 0, 8);
    }

    /** The notation of all texts. */
    private static String text(QueuePair queuePair) {
        return "0x%06x".formatted(queuePair.number());
    }

    @Test
    void shouldTellOfRegistrations() throws IOException {
        try (SoftPair pair = pair(false);
                Flight made = new Flight("MemoryRegistration");
                Flight ended = new Flight("MemoryDeregistration")) {
            MemoryRegion region = pair.domain.register(
                    pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
            region.close();
            RecordedEvent registration = made.only();
            assertEquals("soft0", registration.getString("device"));
            assertEquals("ibv_reg_mr", registration.getString("verb"));
            assertEquals(BYTES, registration.getLong("bytes"));
            assertEquals("[LOCAL_WRITE, REMOTE_READ]", registration.getString("access"));
            assertEquals(0, registration.getInt("errno"));
            assertTrue(registration.getDuration().isPositive());
            assertEquals(List.of("RDMA"), registration.getEventType().getCategoryNames());
            assertTrue(registration.getStackTrace().getFrames().stream()
                    .anyMatch(frame -> frame.getMethod().getName().equals("shouldTellOfRegistrations")));
            RecordedEvent deregistration = ended.only();
            assertEquals("soft0", deregistration.getString("device"));
            assertEquals(BYTES, deregistration.getLong("bytes"));
            assertEquals(0, deregistration.getInt("errno"));
        }
    }

    @Test
    void shouldTellOfChangedRegistrations() throws IOException {
        try (SoftPair pair = pair(false);
                Flight made = new Flight("MemoryRegistration")) {
            MemoryRegion region = pair.domain.register(pair.arena.allocate(BYTES, 64), AccessFlag.LOCAL_WRITE);
            Reregistration larger = new Reregistration().memory(pair.arena.allocate(2 * BYTES, 64));
            assertThrows(UnsupportedVerbException.class, () -> region.reregister(larger));
            assertTrue(region.isUsable());
            assertThrows(
                    UnsupportedVerbException.class,
                    () -> pair.domain.registerDmaBuffer(0, 0, BYTES, 0, AccessFlag.LOCAL_WRITE));
            assertEquals(
                    List.of(
                            "ibv_reg_mr " + BYTES + " 0",
                            "ibv_rereg_mr " + 2 * BYTES + " 95",
                            "ibv_reg_dmabuf_mr " + BYTES + " 95"),
                    made.events().stream()
                            .map(each ->
                                    each.getString("verb") + " " + each.getLong("bytes") + " " + each.getInt("errno"))
                            .toList());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfAQueuePairThatFails(boolean wire) throws IOException {
        try (SoftPair pair = pair(wire);
                Flight flight = new Flight("QueuePairError")) {
            pair.a.postSend(writeWithWrongKey(pair));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
            RecordedEvent error = flight.only();
            assertEquals("soft0", error.getString("device"));
            assertEquals(text(pair.a), error.getString("queuePair"));
            assertEquals("RC", error.getString("type"));
            assertEquals("REM_ACCESS_ERR", error.getString("status"));
            assertEquals("", error.getString("asyncEvent"));
            assertEquals(pair.a.failure().orElseThrow().toString(), error.getString("cause"));
        }
    }

    @Test
    void shouldTellOfAsynchronousEvents() throws IOException, InterruptedException {
        try (SoftPair pair = pair(true);
                Flight taken = new Flight("AsyncEvent");
                Flight failures = new Flight("QueuePairError")) {
            pair.a.postSend(writeWithWrongKey(pair));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
            AsyncEvent event = pair.context.awaitAsyncEvent(SoftPair.LIMIT).orElseThrow();
            RecordedEvent recorded = taken.only();
            assertEquals("soft0", recorded.getString("device"));
            assertEquals(event.type().name(), recorded.getString("type"));
            assertEquals(event.source().toString(), recorded.getString("source"));
            RecordedEvent ofPeer = failures.events().stream()
                    .filter(each -> each.getString("queuePair").equals(text(pair.b)))
                    .findFirst()
                    .orElseThrow();
            assertEquals("QP_ACCESS_ERR", ofPeer.getString("asyncEvent"));
        }
    }

    @Test
    void shouldTellOfWaits() throws IOException, InterruptedException {
        try (SoftPair pair = pair(false);
                Flight flight = new Flight("CompletionWait")) {
            CompletionQueue queue = pair.context.createCompletionQueue(16, pair.context.createCompletionChannel(), 0);
            assertEquals(0, queue.await(new WorkCompletions(pair.arena, 1), Duration.ofMillis(30)));
            RecordedEvent wait = flight.only();
            assertEquals("soft0", wait.getString("device"));
            assertEquals(queue.entries(), wait.getInt("entries"));
            assertEquals(0, wait.getInt("completions"));
            assertTrue(wait.getDuration().toMillis() >= 20, wait::toString);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfAnOverrun(boolean wire) throws IOException, InterruptedException {
        try (SoftPair pair = pair(wire);
                Flight flight = new Flight("CompletionQueueOverrun")) {
            CompletionQueue small = pair.context.createCompletionQueue(2);
            QueuePair one =
                    pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, small).maxSendWorkRequests(16));
            one.connect(one.localEndpoint());
            for (int i = 0; i < 16; i++) {
                one.postSend(pair.request()
                        .rdmaWrite(pair.memory.address(), pair.region.rkey())
                        .add(pair.region, 0, 8));
            }
            assertTrue(pair.context.awaitAsyncEvent(SoftPair.LIMIT).isPresent());
            RecordedEvent overrun = flight.only();
            assertEquals("soft0", overrun.getString("device"));
            assertEquals(small.entries(), overrun.getInt("entries"));
        }
    }

    @Test
    void shouldTellOfRetransmissions() throws IOException {
        ConnectOptions options = new ConnectOptions().timeout(10).retryCount(7);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options, "faults", "loss=0.2,seed=3");
                Flight flight = new Flight("Retransmission")) {
            for (int i = 0; i < 50; i++) {
                pair.complete(pair.request()
                        .rdmaWrite(pair.memory.address(), pair.region.rkey())
                        .add(pair.region, SoftPair.BYTES / 2, 20_000));
            }
            List<RecordedEvent> all = flight.events();
            Set<String> causes =
                    all.stream().map(each -> each.getString("cause")).collect(Collectors.toSet());
            assertTrue(causes.contains("gap"), causes::toString);
            assertTrue(causes.contains("timeout") || causes.contains("probe"), causes::toString);
            RecordedEvent any = all.getFirst();
            assertEquals(text(pair.a), any.getString("queuePair"));
            assertEquals(text(pair.b), any.getString("destination"));
            assertTrue(any.getInt("packets") >= 0);
            assertTrue(any.getString("peer").endsWith(":" + port(pair)), any::toString);
            assertEquals(List.of("RDMA", "soft0"), any.getEventType().getCategoryNames());
        }
    }

    private static int port(SoftPair pair) {
        return SoftDevice.contextAt(pair.context.nativeAddress())
                .device()
                .wire()
                .port();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldTellOfReceiversThatAreNotReady(boolean wire) throws IOException {
        try (SoftPair pair = pair(wire);
                Flight flight = new Flight("RnrWait")) {
            pair.a.postSend(pair.request().send().add(pair.region, 0, 8));
            // Longer than the time that the peer demands.
            Bound bound = Bound.of(Duration.ofMillis(50));
            WorkCompletions none = new WorkCompletions(pair.arena, 1);
            while (!bound.isOver()) {
                assertEquals(0, pair.queue.poll(none));
            }
            pair.b.postReceive(ReceiveWorkRequest.allocate(pair.arena, 1).add(pair.region, 64, 8));
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            assertEquals(CompletionStatus.SUCCESS, pair.next().status(0));
            RecordedEvent wait = flight.events().getFirst();
            assertEquals(text(pair.a), wait.getString("queuePair"));
            assertEquals(text(pair.b), wait.getString("destination"));
            assertEquals(wire, !wait.getString("peer").equals("this device"));
            assertEquals(Duration.ofNanos(640_000), wait.getDuration("wait"));
        }
    }

    @Test
    void shouldTellOfPacketsThatItDrops() throws IOException {
        try (SoftPair pair = pair(true);
                PacketPeer peer = new PacketPeer(pair, QueuePairType.RC);
                QueuePair reset = pair.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, pair.queue));
                Flight flight = new Flight("PacketDropped")) {
            peer.sendTo(0xabcdef, Opcode.RC_SEND_ONLY);
            peer.sendTo(peer.queuePair.number(), Opcode.UC_SEND_ONLY);
            peer.sendTo(peer.queuePair.number(), Opcode.UD_SEND_ONLY);
            peer.sendTo(reset.number(), Opcode.RC_SEND_ONLY);
            // Handled after those.
            peer.send(Opcode.RC_RDMA_WRITE_ONLY, 0, 8, pair.memory.address(), 0, 8);
            peer.answer(0);
            Set<String> drops = flight.events().stream()
                    .map(each -> each.getString("reason") + " " + each.getString("queuePair"))
                    .collect(Collectors.toSet());
            String number = text(peer.queuePair);
            assertEquals(
                    Set.of(
                            "no such queue pair 0xabcdef",
                            "of another transport than the queue pair " + number,
                            "no receive or another Q_Key " + number,
                            "not from the peer of the queue pair " + text(reset)),
                    drops);
        }
    }

    @Test
    void shouldTellOfSpoiledPackets() throws IOException {
        ConnectOptions options = new ConnectOptions().timeout(10).retryCount(7);
        try (SoftPair pair = new SoftPair(QueuePairType.RC, options, "faults", "corrupt=0.2,seed=5");
                Flight flight = new Flight("PacketDropped")) {
            for (int i = 0; i < 20; i++) {
                pair.complete(pair.request()
                        .rdmaWrite(pair.memory.address(), pair.region.rkey())
                        .add(pair.region, SoftPair.BYTES / 2, 20_000));
            }
            RecordedEvent first = flight.events().stream()
                    .filter(each -> each.getString("reason").equals("wrong checksum"))
                    .findFirst()
                    .orElseThrow();
            assertTrue(first.getLong("bytes") > 0);
            assertEquals("0x000000", first.getString("queuePair"));
        }
    }

    @Test
    void shouldTellOfAFullWindow() throws IOException {
        try (SoftPair pair = pair(true);
                Flight flight = new Flight("WindowStall")) {
            ManyPairs many = new ManyPairs(pair, 64, 20, new ConnectOptions());
            many.writeAndReadBack(2, 60_000, SoftPair.LIMIT);
            Set<String> numbers = many.requesters.stream().map(EventsTest::text).collect(Collectors.toSet());
            RecordedEvent stall = flight.events().stream()
                    .filter(each -> numbers.contains(each.getString("queuePair")))
                    .findFirst()
                    .orElseThrow();
            assertTrue(stall.getDuration().isPositive());
            assertTrue(stall.getString("peer").endsWith(":" + port(pair)), stall::toString);
        }
    }

    /** What nobody records is not recorded, and costs no object. */
    @Test
    void shouldTellNothingUnlessItIsRecorded() throws IOException {
        try (SoftPair pair = pair(false);
                Flight other = new Flight("WindowStall")) {
            pair.a.postSend(writeWithWrongKey(pair));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.next().status(0));
            assertFalse(pair.a.failure().isEmpty());
            assertEquals(List.of(), other.eventsOrNone());
        }
    }
}
