package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;

/** What goes wrong between two ids of one process: it ends in bounded time, says why, and leaves nothing. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FaultsLabTest {
    private static final int PORT = 7481;
    private static final int CONSUMER = 28;
    private static final int INVALID_SERVICE_ID = 8;

    private List<String> before;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void seeThatNothingIsLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldBeRejectedWhereNobodyListens() throws Exception {
        try (TwoIds ids = TwoIds.resolved(PortSpace.TCP, PORT)) {
            ids.client.connect(TwoIds.parameters());
            CmEvent event = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals(INVALID_SERVICE_ID, event.status());
            assertTrue(CmFailures.of("rdma_connect", event) instanceof RejectedException);
        }
        try (TwoIds ids = TwoIds.resolved(PortSpace.UDP, PORT)) {
            ids.client.connect(TwoIds.parameters());
            CmEvent event = CmEvents.await(ids.active, CmEventType.UNREACHABLE);
            assertEquals(1, event.status(), "the service identifier is not supported");
            ConnectionException exception = CmFailures.of("rdma_connect", event);
            assertEquals("ECONNREFUSED", exception.errnoName(), exception::getMessage);
            assertTrue(
                    exception.getMessage().contains("nobody listens at " + Lab.SECOND_HOST + ":" + PORT),
                    exception::getMessage);
        }
        // A listener of the other port space is none.
        try (TwoIds datagrams = TwoIds.listening(PortSpace.UDP, PORT);
                TwoIds ids = TwoIds.resolved(PortSpace.TCP, PORT)) {
            ids.client.connect(TwoIds.parameters());
            assertEquals(
                    INVALID_SERVICE_ID,
                    CmEvents.await(ids.active, CmEventType.REJECTED).status());
            assertTrue(datagrams.passive.poll().isEmpty());
        }
    }

    /** Of this process, which has refused, and of another one, which was asked and ended before it answered. */
    @Test
    void shouldBeRejectedThoughAProcessThatWasAskedEnds() throws Exception {
        assumeFalse(Lab.isInLab(), "processes of one machine share its port");
        try (TwoIds ids = TwoIds.resolved(PortSpace.TCP, PORT)) {
            try (DatagramChannel other = atTheNextPort()) {
                ids.client.connect(TwoIds.parameters());
                assertTrue(other.isOpen());
            }
            CmEvent event = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals(INVALID_SERVICE_ID, event.status());
        }
    }

    /** Opens a socket where the device of another process would. */
    private static DatagramChannel atTheNextPort() throws IOException {
        BindException last = null;
        for (int port = 4791; port < 4791 + 64; port++) {
            DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET);
            try {
                return channel.bind(new InetSocketAddress(Lab.SECOND_HOST, port));
            } catch (BindException e) {
                channel.close();
                last = e;
            }
        }
        throw last;
    }

    @Test
    void shouldCarryPrivateDataOfARejection() throws Exception {
        byte[] longest = random(148);
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            ids.request().id().reject(longest);
            CmEvent event = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals(CONSUMER, event.status());
            assertArrayEquals(longest, event.privateData());
        }
        byte[] longestForDatagrams = random(136);
        try (TwoIds ids = TwoIds.listening(PortSpace.UDP, PORT)) {
            ids.request().id().reject(longestForDatagrams);
            CmEvent event = CmEvents.await(ids.active, CmEventType.UNREACHABLE);
            assertEquals(2, event.status(), "rejected");
            assertArrayEquals(longestForDatagrams, event.privateData());
            ConnectionException exception = CmFailures.of("rdma_connect", event);
            assertEquals("ECONNREFUSED", exception.errnoName(), exception::getMessage);
        }
    }

    @Test
    @Shows("rdma_reject_ece")
    void shouldRejectBecauseOfOptions() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            ids.request().id().rejectEce(PrivateData.bytes("no options"));
            CmEvent event = CmEvents.await(ids.active, CmEventType.REJECTED);
            assertEquals(35, event.status(), "the vendor's option is not supported");
            assertEquals("no options", PrivateData.text(event.privateData()));
            ConnectionException exception = CmFailures.of("rdma_connect", event);
            assertEquals("ECONNREFUSED", exception.errnoName(), exception::getMessage);
            assertEquals(35, exception.status());
            assertTrue(exception.getMessage().contains("options"), exception::getMessage);
        }
    }

    @Test
    void shouldCarryAnyBytesAsPrivateData() throws Exception {
        for (int length : new int[] {0, 1, 56}) {
            byte[] garbage = random(length);
            try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
                CmEvent request = ids.request(garbage);
                assertArrayEquals(Arrays.copyOf(garbage, 56), request.privateData());
                request.id().reject();
                assertArrayEquals(
                        new byte[148],
                        CmEvents.await(ids.active, CmEventType.REJECTED).privateData());
            }
        }
        byte[] answer = random(136);
        for (int length : new int[] {0, 180}) {
            byte[] garbage = random(length);
            try (TwoIds ids = TwoIds.listening(PortSpace.UDP, PORT)) {
                CmEvent request = ids.request(garbage);
                assertArrayEquals(Arrays.copyOf(garbage, 180), request.privateData());
                request.id()
                        .accept(new ConnectionParameters().queuePairNumber(18).privateData(answer));
                CmEvent established = CmEvents.await(ids.active, CmEventType.ESTABLISHED);
                assertEquals(18, established.datagram().queuePairNumber());
                assertArrayEquals(answer, established.privateData());
            }
        }
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    @Test
    void shouldRefuseTooMuchPrivateDataWithOneMessage() throws Exception {
        ConnectionParameters none = new ConnectionParameters();
        assertMax(255, assertThrows(IllegalArgumentException.class, () -> none.privateData(new byte[256])));
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT)) {
            assertMax(56, assertThrows(IllegalArgumentException.class, () -> ids.client.connect(with(57))));
            CmId request = ids.request(new byte[56]).id();
            assertMax(196, assertThrows(IllegalArgumentException.class, () -> request.accept(with(197))));
            assertMax(148, assertThrows(IllegalArgumentException.class, () -> request.reject(new byte[149])));
            assertMax(148, assertThrows(IllegalArgumentException.class, () -> request.rejectEce(new byte[256])));
            // It can be answered all the same.
            request.accept(with(196));
            assertEquals(
                    196,
                    CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE).privateData().length);
        }
        try (TwoIds ids = TwoIds.listening(PortSpace.UDP, PORT)) {
            assertMax(180, assertThrows(IllegalArgumentException.class, () -> ids.client.connect(with(181))));
            CmId request = ids.request(new byte[180]).id();
            assertMax(136, assertThrows(IllegalArgumentException.class, () -> request.accept(with(137))));
            assertMax(136, assertThrows(IllegalArgumentException.class, () -> request.reject(new byte[137])));
        }
    }

    private static ConnectionParameters with(int length) {
        return TwoIds.parameters().privateData(new byte[length]);
    }

    private static void assertMax(int max, IllegalArgumentException exception) {
        assertTrue(exception.getMessage().matches(".*\\b" + max + "\\b.*"), exception::getMessage);
    }

    @Test
    void shouldSayThatAnAddressCannotBeResolved() throws Exception {
        Lab.assumeInLab("nobody asks who has an address before datagrams go there");
        InetSocketAddress nobody = new InetSocketAddress("10.77.0.99", PORT);
        try (EventChannel channel = EventChannel.create()) {
            CmId id = channel.createId(PortSpace.TCP);
            id.resolveAddress(Lab.first(0), nobody, Duration.ofMillis(1));
            CmEvent event = CmEvents.await(channel, CmEventType.ADDR_ERROR);
            assertEquals("ETIMEDOUT", CmFailures.of("rdma_resolve_addr", event).errnoName(), event::toString);
            assertFalse(id.hasDevice() && id.isOpen() && channel.poll().isPresent());
        }
        try (SynchronousId id = SynchronousId.create(PortSpace.TCP)) {
            Bound bound = Bound.usual();
            ConnectionException exception = assertThrows(
                    ConnectionException.class, () -> id.resolve(Lab.first(0), nobody, Duration.ofMillis(700)));
            assertEquals("rdma_resolve_addr", exception.verb());
            assertTrue(List.of("ETIMEDOUT", "EHOSTUNREACH").contains(exception.errnoName()), exception::getMessage);
            bound.check("resolving went on after its timeout");
        }
        try (EventChannel channel = EventChannel.create()) {
            CmId id = channel.createId(PortSpace.TCP);
            // No device has an address in that network.
            ConnectionException exception = assertThrows(
                    ConnectionException.class,
                    () -> id.resolveAddress(new InetSocketAddress("192.0.2.1", 1), nobody, Lab.SECONDS));
            assertTrue(List.of("EADDRNOTAVAIL", "ENODEV").contains(exception.errnoName()), exception::getMessage);
        }
    }

    @Test
    void shouldEndRequestsThatNobodyTookWhenTheListenerCloses() throws Exception {
        try (TwoIds ids = TwoIds.listening(PortSpace.TCP, PORT);
                EventChannel others = EventChannel.create()) {
            CmId taken = ids.request(PrivateData.bytes("taken")).id();
            for (int i = 0; i < 3; i++) {
                CmId other = others.createId(PortSpace.TCP);
                TwoIds.resolve(others, other, PORT);
                other.connect(TwoIds.parameters());
            }
            // They wait in the kernel.
            Thread.sleep(300);
            ids.listener.close();
            for (int i = 0; i < 3; i++) {
                CmEvent event = CmEvents.await(others, CmEventType.REJECTED);
                assertTrue(event.status() == CONSUMER || event.status() == INVALID_SERVICE_ID, event::toString);
            }
            // The one that was taken is not the listener's any more.
            assertTrue(taken.isOpen());
            taken.accept(TwoIds.parameters());
            CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
        }
    }

    @Test
    void shouldCloseAnIdWhoseEventNobodyTook() throws Exception {
        for (boolean late : new boolean[] {false, true}) {
            try (EventChannel channel = EventChannel.create()) {
                CmId gone = channel.createId(PortSpace.TCP);
                gone.resolveAddress(Lab.first(0), Lab.second(PORT), Duration.ofSeconds(5));
                if (late) {
                    // The event is there.
                    Thread.sleep(300);
                }
                gone.close();
                assertTrue(channel.await(Duration.ofMillis(200)).isEmpty());
                // The channel is as good as before.
                TwoIds.resolve(channel, channel.createId(PortSpace.TCP), PORT);
            }
        }
    }

    @Test
    void shouldCloseAChannelWithEventsThatNobodyTook() throws Exception {
        EventChannel passive = EventChannel.create();
        CmId listener = passive.createId(PortSpace.TCP);
        listener.bind(Lab.second(PORT));
        listener.listen(8);
        try (EventChannel active = EventChannel.create()) {
            CmId client = active.createId(PortSpace.TCP);
            TwoIds.resolve(active, client, PORT);
            client.connect(TwoIds.parameters());
            CmId resolving = passive.createId(PortSpace.UDP);
            resolving.resolveAddress(Lab.second(0), Lab.first(1), Duration.ofSeconds(5));
            Thread.sleep(500);
            passive.close();
            assertFalse(listener.isOpen());
            assertFalse(resolving.isOpen());
            assertEquals(CONSUMER, CmEvents.await(active, CmEventType.REJECTED).status());
        }
    }

    @Test
    void shouldAnswerARequestOnce() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT));
                TwoIds ids = TwoIds.resolved(PortSpace.TCP, PORT)) {
            ids.client.connect(TwoIds.parameters());
            ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
            assertThrows(NullPointerException.class, () -> request.accept(null, Lab.SECONDS));
            assertThrows(NullPointerException.class, () -> request.reject((byte[]) null));
            assertThrows(IllegalArgumentException.class, () -> request.reject(new byte[149]));
            assertThrows(
                    IllegalArgumentException.class,
                    () -> request.accept(new RdmaConnectionOptions(), Duration.ofMillis(-1)));
            Thread establishing = Thread.ofVirtual().start(() -> {
                try {
                    CmEvents.await(ids.active, CmEventType.CONNECT_RESPONSE);
                    ids.client.establish();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            try (RdmaConnection connection = request.accept(new RdmaConnectionOptions(), Lab.SECONDS)) {
                establishing.join();
                assertThrows(
                        IllegalStateException.class, () -> request.accept(new RdmaConnectionOptions(), Lab.SECONDS));
                assertThrows(IllegalStateException.class, () -> request.reject());
                assertTrue(connection.isConnected(), "the second answer did no harm");
            }
            CmEvents.await(ids.active, CmEventType.DISCONNECTED);
        }
    }

    @Test
    void shouldServeOthersAfterAStranger() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, Lab.second(PORT))) {
            Random random = new Random(1);
            for (int i = 0; i < 4; i++) {
                byte[] garbage = new byte[56];
                random.nextBytes(garbage);
                try (TwoIds stranger = TwoIds.resolved(PortSpace.TCP, PORT)) {
                    stranger.client.connect(TwoIds.parameters()
                            .retryCount(random.nextInt(8))
                            .rnrRetryCount(random.nextInt(8))
                            .sharedReceiveQueue(random.nextBoolean())
                            .privateData(garbage));
                    ConnectionRequest request = server.awaitRequest(Lab.SECONDS).orElseThrow();
                    assertArrayEquals(garbage, request.privateData());
                    // It never says that its side is ready.
                    Bound bound = Bound.usual();
                    ConnectionException exception = assertThrows(
                            ConnectionException.class,
                            () -> request.accept(new RdmaConnectionOptions(), Duration.ofMillis(500)));
                    assertEquals("ETIMEDOUT", exception.errnoName());
                    bound.check("accepting went on after its timeout");
                }
            }
        }
    }

    /** A channel is a file, and an id is none; what fails says so, and what there is goes on. */
    @Test
    void shouldSayThatTooManyFilesAreOpen() throws Exception {
        Lab.assumeInLab("its event channels are no files");
        try (Program program = Program.java(
                List.of("bash", "-c", "ulimit -n 120 && exec \"$0\" \"$@\""), FewFiles.class, Integer.toString(PORT))) {
            program.assertSucceeds();
            String output = program.output();
            for (String each : List.of("full", "listening", "connecting")) {
                assertTrue(
                        output.lines()
                                .anyMatch(line -> line.startsWith(each + " ")
                                        && line.contains("rdma_create_event_channel failed: EMFILE")
                                        && line.contains("ulimit -n")),
                        () -> each + ": " + output);
            }
            assertTrue(output.contains("request still CONNECT_REQUEST"), output);
            assertTrue(output.contains("again true"), output);
        }
    }
}
