package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.Peer;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LiveHeap;

/**
 * Requests for connections that nobody wants, from many addresses, with identifiers that never come twice: to a server,
 * and to services that nobody has. They cost a bounded amount of memory, and clients that do want something connect beside
 * them.
 */
@EnabledOnOs(OS.LINUX) // where all of 127.0.0.0/8 are addresses of the machine
@Timeout(value = 200)
class FloodTest {
    private static final int PORT = 10_000 + (int) (ProcessHandle.current().pid() % 20_000);
    private static final InetSocketAddress ADDRESS = new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT);
    private static final long SERVICE = Attacker.service(rdma_h.RDMA_PS_TCP(), PORT);
    private static final int REQUESTS = Integer.getInteger("flood.requests", 100_000);
    private static final int PER_SOCKET = 40;
    private static final int SOCKETS = 100;
    private static final int BACKLOG = 64;
    private static final int FEW = 150;

    /**
     * So many clients must get in while requests come that nobody wants. The server can answer about half of those, so that
     * clients have to repeat theirs.
     */
    private static final int CLIENTS = 5;

    /** When to conclude that they do not get in. */
    private static final int MOST_REQUESTS = 5_000_000;

    private static final Duration QUIET = Duration.ofSeconds(1);
    private static final Duration LIMIT = Duration.ofSeconds(100);
    private static final long MEMORY_MARGIN = 16L << 20;
    private static final String WANTED = "wanted";

    private final SplittableRandom random = new SplittableRandom(20261123);
    private final AtomicInteger answers = new AtomicInteger();
    private final AtomicInteger connected = new AtomicInteger();

    private CmFixture server;
    private CmFixture clients;
    private SoftDevice device;

    @BeforeEach
    void open() {
        server = new CmFixture("wire", "true");
        clients = server.beside();
        SoftContext context = SoftDevice.open();
        device = context.device();
        context.close();
    }

    @AfterEach
    void close() {
        clients.close();
        server.close();
    }

    /** Sends requests from ever new addresses, and counts what comes back. */
    private int flood(int count) throws IOException {
        Deque<Attacker> attackers = new ArrayDeque<>();
        for (int sent = 0; sent < count; sent += PER_SOCKET) {
            byte[] from = {127, (byte) (1 + random.nextInt(200)), (byte) random.nextInt(256), 1};
            attackers.add(attacker(InetAddress.getByAddress(from), 0));
            request(attackers.getLast(), PER_SOCKET);
            if (attackers.size() == SOCKETS) {
                close(attackers.remove());
            }
        }
        for (Attacker each : attackers) {
            close(each);
        }
        return count;
    }

    /** Goes on until enough clients have connected meanwhile, or for long. Returns how many requests it sent. */
    private int floodClients() throws IOException {
        int sent = 0;
        do {
            sent += flood(REQUESTS);
        } while (connected.get() < CLIENTS && sent < MOST_REQUESTS);
        return sent;
    }

    private void close(Attacker attacker) throws IOException {
        try (attacker) {
            answers.addAndGet(attacker.receiveAll());
        }
    }

    /** From higher ports than those of devices, answers go to the port of RoCEv2. */
    private Attacker attacker(InetAddress from, int port) throws IOException {
        return new Attacker(
                from,
                port,
                new InetSocketAddress(ADDRESS.getAddress(), device.wire().port()));
    }

    /** Sends requests to the server, to nobody, and for datagrams to nobody. */
    private void request(Attacker attacker, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            int number = random.nextInt();
            switch (i % 3) {
                case 0 -> attacker.request(number, SERVICE, rdma_h.IBV_MTU_1024());
                case 1 -> attacker.request(number, SERVICE + 1, rdma_h.IBV_MTU_1024());
                default -> attacker.datagramRequest(number, Attacker.service(rdma_h.RDMA_PS_UDP(), PORT));
            }
        }
    }

    /** Accepts what is wanted, and turns the others away. Returns whether there was a request. */
    private boolean serve() {
        CmFixture.Event event = server.next(0);
        if (event == null) {
            return false;
        }
        if (event.type() == rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST()) {
            if (event.text().equals(WANTED)) {
                CmFixture.succeed(server.manager.accept(event.id(), server.parameters(7, "welcome")));
            } else {
                CmFixture.succeed(server.manager.reject(event.id(), 0, (byte) 0));
                server.destroy(event.id());
            }
        } else if (event.type() == rdma_h.RDMA_CM_EVENT_DISCONNECTED()) {
            server.destroy(event.id());
        }
        return true;
    }

    /** Connects while others ask for connections as well. Returns how long it took, in nanoseconds. */
    private long connect() {
        Bound bound = Bound.of(LIMIT);
        long start = System.nanoTime();
        long client = clients.client(ADDRESS, 5, WANTED);
        CmFixture.Event answer = clients.next(0);
        while (answer == null) {
            bound.check("the client is not connected");
            if (!serve()) {
                clients.awaitEvent(1);
            }
            answer = clients.next(0);
        }
        assertEquals(rdma_h.RDMA_CM_EVENT_CONNECT_RESPONSE(), answer.type(), answer::toString);
        CmFixture.succeed(clients.manager.establish(client));
        long nanos = System.nanoTime() - start;
        CmFixture.succeed(clients.manager.disconnect(client));
        clients.destroy(client);
        return nanos;
    }

    private int peers() {
        device.lock();
        try {
            return device.wire().peers();
        } finally {
            device.unlock();
        }
    }

    @Test
    void shouldLetClientsInBesideRequestsThatNobodyWants() throws Exception {
        long listener = server.listener(ADDRESS, BACKLOG);
        connect();
        long before = LiveHeap.bytes();
        long received = device.wire().received();
        long start = System.nanoTime();
        CompletableFuture<Integer> flood = Async.start(this::floodClients);
        List<Long> times = new ArrayList<>();
        for (long nanos = connect(); !flood.isDone(); nanos = connect()) {
            times.add(nanos);
            connected.incrementAndGet();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        int sent = Async.get(flood);
        assertTrue(times.size() >= CLIENTS, () -> times.size() + " clients connected during " + sent + " requests");
        times.sort(null);
        System.out.printf(
                "%d clients connected during %.1f s in %.1f ms (median), %.1f ms (longest); %d requests arrived, %d answers%n",
                times.size(),
                seconds,
                times.get(times.size() / 2) / 1e6,
                times.getLast() / 1e6,
                device.wire().received() - received,
                answers.get());
        Bound bound = Bound.of(LIMIT);
        while (serve()) {
            bound.check("requests come for ever");
        }
        // Not those that found no room.
        assertTrue(answers.get() <= sent, () -> answers.get() + " answers");
        assertTrue(peers() <= 2 * 1024, () -> peers() + " peers");
        connect();
        long after = LiveHeap.bytes();
        assertTrue(after < before + MEMORY_MARGIN, () -> "from " + before + " to " + after + " bytes");
        server.destroy(listener);
    }

    /** Has as many requests wait as may. */
    private void fill() throws Exception {
        flood(REQUESTS / 10);
        Bound bound = Bound.of(LIMIT);
        long received;
        do {
            bound.check("packets come for ever");
            received = device.wire().received();
            Thread.sleep(100);
        } while (device.wire().received() != received);
    }

    /** A client repeats its request, which most of a flood does not. */
    @Test
    void shouldKeepARequestThatIsRepeated() throws Exception {
        long listener = server.listener(ADDRESS, BACKLOG);
        fill();
        long received = device.wire().received();
        long client = clients.client(ADDRESS, 5, WANTED);
        Bound bound = Bound.of(LIMIT);
        bound.await("the request is not repeated", () -> device.wire().received() >= received + 2);
        int waiting = 0;
        boolean wanted = false;
        while (!wanted) {
            bound.check("the request does not wait");
            CmFixture.Event event = server.next(1);
            if (event != null) {
                waiting++;
                wanted = event.text().equals(WANTED);
                server.destroy(event.id());
            }
        }
        assertEquals(BACKLOG + 1, waiting);
        clients.destroy(client);
        server.destroy(listener);
    }

    /** Those of a server whose program is busy wait, as many as it wants, and leave nothing when it goes. */
    @Test
    void shouldKeepAsManyRequestsAsTheServerWants() throws Exception {
        long listener = server.listener(ADDRESS, BACKLOG);
        long before = LiveHeap.bytes();
        fill();
        int waiting = 0;
        for (CmFixture.Event event = server.next(0); event != null; event = server.next(0)) {
            assertEquals(rdma_h.RDMA_CM_EVENT_CONNECT_REQUEST(), event.type());
            server.destroy(event.id());
            waiting++;
        }
        assertEquals(BACKLOG, waiting);
        long after = LiveHeap.bytes();
        assertTrue(after < before + MEMORY_MARGIN, () -> "from " + before + " to " + after + " bytes");
        // And there is room again.
        connect();
        server.destroy(listener);
    }

    /** Nobody can have this device send more than they send themselves. */
    @Test
    void shouldAnswerOnceWhereNobodyListens() throws Exception {
        try (Attacker attacker = attacker(InetAddress.ofLiteral("127.9.9.9"), PORT)) {
            request(attacker, FEW);
            int count = 0;
            Bound bound = Bound.of(LIMIT);
            Bound quiet = Bound.of(QUIET);
            while (count < FEW || !quiet.isOver()) {
                int before = count;
                bound.check(() -> before + " answers have come");
                int more = attacker.receiveAll();
                if (more > 0) {
                    quiet.restart();
                }
                count += more;
                Thread.sleep(1);
            }
            assertEquals(FEW, count);
        }
    }

    /** What is known of the packets of a connection stays known. */
    @Test
    void shouldNotForgetThePeersOfConnections() throws Exception {
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions())) {
            SendWorkRequest write = pair.request()
                    .rdmaWrite(pair.memory.address(), pair.region.rkey())
                    .add(pair.region, 0, Long.BYTES);
            pair.complete(write);
            InetSocketAddress there = new InetSocketAddress(
                    device.addresses().address(0), device.wire().port());
            Peer peer = peerAt(there);
            flood(REQUESTS);
            assertSame(peer, peerAt(there));
            pair.complete(write);
        }
    }

    private Peer peerAt(InetSocketAddress address) {
        device.lock();
        try {
            return device.wire().peer(address);
        } finally {
            device.unlock();
        }
    }
}
