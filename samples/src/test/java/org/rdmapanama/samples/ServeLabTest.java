package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.CmEvent;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.PortSpace;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LiveHeap;

/** A server of transfers with many clients at a time, of which most stall, lie or talk nonsense. */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ServeLabTest {
    /**
     * Clients that ask, and never do what the answer asks of them. In the emulated lab, 400 of 800 were never pending at a time
     * within a minute, because the server gives each up after ten seconds; in a kernel as a process they are.
     */
    private static final int HALF_OPEN = Integer.getInteger("serve.half.open", Lab.isInLab() ? 80 : 800);

    /** Requests that no transfer sends. */
    private static final int STRANGERS = HALF_OPEN / 4;

    private static final int BABBLERS = 10;
    private static final int MEASURED = 21;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    /** What a JVM that has loaded more classes and compiled more code meanwhile may hold; 1,000 clients hold more. */
    private static final long MOST_LEFT = 4 << 20;

    private final int port = Lab.port();
    private final StringWriter out = new StringWriter();
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
    private List<String> before;
    private int nextNumber = 0x20_0000;

    @BeforeEach
    void seeWhatIsThere() throws Exception {
        before = Lab.resources();
    }

    @AfterEach
    void assertNothingLeft() throws Exception {
        Lab.assertNothingLeft(before);
    }

    /** A server in a thread of its own, as rdma serve -P has it. */
    private final class Serving implements AutoCloseable {
        private final CompletableFuture<TransferServer> started = new CompletableFuture<>();
        private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
        private final Thread thread = Thread.ofPlatform().name("serving").start(this::serve);

        private void serve() {
            TransferServer.Bounds bounds = new TransferServer.Bounds(1 << 20, 64, Lab.SECONDS, true);
            PrintWriter printer = new PrintWriter(out, true);
            Meeting meeting = new CmMeeting(Lab.second(port), null, Lab.SECONDS, printer, failures::add);
            try (TransferServer server = new TransferServer(bounds, printer, e -> failures.add(e.getMessage()))) {
                server.execute(() -> started.complete(server));
                server.run(meeting);
            } catch (InterruptedException e) {
                ended.complete(e);
            } catch (Throwable e) {
                started.completeExceptionally(e);
                ended.complete(e);
            }
        }

        int clients() throws Exception {
            TransferServer server = started.get(20, TimeUnit.SECONDS);
            CompletableFuture<Integer> count = new CompletableFuture<>();
            server.execute(() -> count.complete(server.clients()));
            return count.get(20, TimeUnit.SECONDS);
        }

        void awaitClients(int most) throws Exception {
            Bound bound = Bound.of(LIMIT);
            int count = clients();
            while (count > most) {
                int last = count;
                bound.check(() -> last + " clients are there");
                Thread.sleep(50);
                count = clients();
            }
        }

        @Override
        public void close() {
            thread.interrupt();
            Throwable end = ended.orTimeout(20, TimeUnit.SECONDS).join();
            assertEquals(InterruptedException.class, end.getClass(), end::toString);
        }
    }

    /** Returns an id that knows the way to a server, and has not asked it yet. */
    static CmId asking(EventChannel channel, InetSocketAddress server) throws InterruptedException {
        CmId id = channel.createId(PortSpace.TCP);
        id.resolveAddress(Lab.first(0), server, Lab.SECONDS);
        await(channel, CmEventType.ADDR_RESOLVED);
        id.resolveRoute(Lab.SECONDS);
        await(channel, CmEventType.ROUTE_RESOLVED);
        return id;
    }

    private static void await(EventChannel channel, CmEventType type) throws InterruptedException {
        CmEvent event = channel.await(Lab.SECONDS).orElseThrow();
        assertEquals(type, event.type());
    }

    private static byte[] protocol() {
        return CmMeeting.PROTOCOL.getBytes(StandardCharsets.US_ASCII);
    }

    /** Has the server answer many requests to which nobody will reply. */
    private void flood(EventChannel channel) throws InterruptedException {
        Random random = new Random(1);
        List<CmId> ids = new ArrayList<>();
        for (int i = 0; i < HALF_OPEN + STRANGERS; i++) {
            ids.add(asking(channel, Lab.second(port)));
        }
        for (int i = 0; i < ids.size(); i++) {
            byte[] privateData = protocol();
            if (i % (ids.size() / STRANGERS) == 0) {
                random.nextBytes(privateData);
            }
            ids.get(i)
                    .connect(new ConnectionParameters()
                            .queuePairNumber(nextNumber++)
                            .privateData(privateData));
        }
    }

    private RdmaConnection connect(VerbsArena arena) throws InterruptedException {
        return new RdmaClient(arena)
                .connect(
                        Lab.second(port),
                        new RdmaConnectionOptions()
                                .localAddress(new InetSocketAddress(Lab.FIRST_HOST, 0))
                                .privateData(protocol()),
                        Lab.SECONDS);
    }

    /** The median time in which a client connects, in microseconds. */
    private double connecting(VerbsArena arena) throws InterruptedException {
        long[] times = new long[MEASURED];
        for (int i = 0; i < MEASURED; i++) {
            long start = System.nanoTime();
            try (RdmaConnection connection = connect(arena)) {
                times[i] = System.nanoTime() - start;
                assertTrue(connection.isConnected());
            }
        }
        Arrays.sort(times);
        return times[MEASURED / 2] / 1e3;
    }

    private void assertMoves() throws Exception {
        Run client = Run.start("transfer", Lab.SECOND_HOST, "-I", Lab.FIRST_HOST, "-p", "" + port, "-s", "64KiB");
        assertEquals(0, client.join(), () -> client + "\n" + out + failures);
        assertTrue(client.out().contains("correct on both sides"), client::toString);
    }

    /** Clients that connect, and then send what no transfer sends. */
    private void babble(VerbsArena arena) throws Exception {
        List<RdmaConnection> all = new ArrayList<>();
        for (int i = 0; i < BABBLERS; i++) {
            RdmaConnection connection = connect(arena);
            MemoryRegion region = connection.register(4096, AccessFlag.LOCAL_WRITE);
            region.memory().fill((byte) 0x5a);
            connection
                    .queuePair()
                    .postSend(SendWorkRequest.allocate(arena, 1)
                            .send()
                            .add(region, 0, i % 2 == 0 ? ControlMessage.BYTES : 16)
                            .signaled(true));
            all.add(connection);
        }
        for (RdmaConnection each : all) {
            assertTrue(each.awaitDisconnect(LIMIT));
            each.close();
        }
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.count();
        }
    }

    /** More than may be in the middle of exchanging endpoints, and none of them says anything. */
    @Test
    void shouldServeBesideSilentClientsOverTcp() throws Exception {
        String at = Lab.portText();
        Run server = Run.start("serve", "--tcp", "-P", "-d", Lab.FIRST_DEVICE, "-p", at, "--timeout", "1000");
        server.await("waiting for a client");
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 300; i++) {
                silent.add(new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(at)));
            }
            Run client = Run.start("transfer", "127.0.0.1", "--tcp", "-d", Lab.SECOND_DEVICE, "-p", at, "-s", "64KiB");
            assertEquals(0, client.join(), () -> client + server.err());
        } finally {
            for (Socket each : silent) {
                each.close();
            }
        }
        server.interrupt();
        assertEquals(130, server.join(), server::toString);
        assertTrue(server.err().contains("gave way to another one"), server::toString);
    }

    @Test
    void shouldServeBesideRequestsThatGoNowhere() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Serving serving = new Serving()) {
            assertMoves();
            connecting(arena);
            babble(arena);
            serving.awaitClients(0);
            double usual = connecting(arena);
            serving.awaitClients(0);
            long heap = LiveHeap.bytes();
            long descriptors = descriptors();
            List<String> resources = Lab.resources();

            double beside;
            String told;
            try (EventChannel channel = EventChannel.create()) {
                flood(channel);
                Bound bound = Bound.of(LIMIT);
                while (serving.clients() < HALF_OPEN / 2) {
                    bound.check("the requests do not come");
                    Thread.sleep(10);
                }
                int pending = serving.clients();
                beside = connecting(arena);
                assertMoves();
                babble(arena);
                told = "%d requests, %d of them pending, then %d"
                        .formatted(HALF_OPEN + STRANGERS, pending, serving.clients());
            }
            serving.awaitClients(0);
            assertMoves();
            usual = Math.min(usual, connecting(arena));
            System.out.printf(
                    Locale.ROOT,
                    "%s: a client connects in %.0f us, usually in %.0f us: %.2f times%n",
                    told,
                    beside,
                    usual,
                    beside / usual);
            serving.awaitClients(0);
            long left = LiveHeap.bytes() - heap;
            System.out.printf(
                    Locale.ROOT,
                    "%d KiB of heap and %d descriptors more than before%n",
                    left >> 10,
                    descriptors() - descriptors);
            assertTrue(left < MOST_LEFT, () -> left + " bytes more than before");
            assertEquals(descriptors, descriptors());
            Lab.assertNothingLeft(resources);
        }
        assertTrue(
                failures.stream().anyMatch(each -> each.contains("it is not an 'rdma transfer'")), failures::toString);
        String address = Lab.FIRST_HOST + ":";
        assertTrue(
                failures.stream().anyMatch(each -> each.startsWith(address) && each.contains("another protocol")),
                failures::toString);
    }
}
