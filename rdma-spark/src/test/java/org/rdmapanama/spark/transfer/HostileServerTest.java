package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.FailedCompletionException;
import org.rdmapanama.Insides;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Bound;

/** What a server can do that keeps to no rule. The test is the server, on soft0. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileServerTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final BlockRange BLOCK = new BlockRange(1, 7, 0, 1);
    private static final String ARRIVED = "arrived";

    private final VerbsArena arena = VerbsArena.ofShared();
    private RdmaServer server;
    private MemoryRegion memory;
    private BlockClient client;

    /** What the client tells of blocks: {@link #ARRIVED}, or why they do not come. */
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();

    private final BlockingQueue<RdmaConnection> accepted = new LinkedBlockingQueue<>();

    private final BlockListener listener = new BlockListener() {
        @Override
        public void arrived(BlockRange block, FetchedBlock buffer) {
            buffer.release();
            told.add(ARRIVED);
        }

        @Override
        public void unavailable(BlockRange block, String reason) {
            told.add(reason);
        }
    };

    /** Starts a server that answers no message, with receives for as many as an honest one has for each client. */
    @BeforeEach
    void listen() {
        RdmaConnectionOptions connections = new RdmaConnectionOptions()
                .privateData(Messages.greeting())
                .singleCompletionQueue(true)
                .completionEvents(true)
                .prepare(this::postReceives);
        server = RdmaServer.listen(
                arena, new InetSocketAddress("127.0.0.1", 0), new RdmaServerOptions().connections(connections));
    }

    private void postReceives(RdmaConnection connection) {
        memory = connection.register(BlockServer.DEPTH * Messages.BYTES, AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < BlockServer.DEPTH; i++) {
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1)
                            .id(i)
                            .add(memory, (long) i * Messages.BYTES, Messages.BYTES));
        }
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.close();
        }
        arena.close();
    }

    private void start(Duration fetchTimeout) {
        client = BlockClient.start(
                new TransferSettings(1, 1 << 20, LIMIT, fetchTimeout, LIMIT.multipliedBy(2), LIMIT), new byte[] {1});
    }

    private void fetch() {
        client.fetch(server.localAddress(), List.of(BLOCK), listener);
    }

    private String told() throws InterruptedException {
        String next = told.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
        assertTrue(next != null, "the client tells nothing of a block");
        return next;
    }

    private RdmaConnection accept() throws InterruptedException {
        return server.accept(LIMIT).orElseThrow();
    }

    /** Waits for so many questions, and returns which messages they are. */
    private static List<Integer> asked(RdmaConnection connection, int count) throws InterruptedException {
        WorkCompletions completions = new WorkCompletions(connection.receiveQueue(), 1);
        List<Integer> asked = new ArrayList<>();
        while (asked.size() < count) {
            assertEquals(1, connection.receiveQueue().await(completions, LIMIT), "a question does not come");
            completions.check(0);
            asked.add((int) completions.id(0));
        }
        return asked;
    }

    /** Says that a block is lent, in the message that has asked for it, at an address that nobody may read. */
    private void answer(RdmaConnection connection, int index, int length) {
        MemorySegment message = memory.memory().asSlice((long) index * Messages.BYTES, Messages.BYTES);
        assertEquals(Messages.ASK, Messages.kind(message));
        Messages.header(message, Messages.ANSWER, 1, Messages.request(message), index);
        Messages.lent(message, 0, 0, length, 0);
        connection
                .queuePair()
                .postSend(SendWorkRequest.allocate(arena, 1)
                        .send()
                        .id(BlockServer.DEPTH + index)
                        .add(memory, (long) index * Messages.BYTES, Messages.bytes(1))
                        .signaled(true));
    }

    @Test
    void shouldNotWaitForEverForASlotOfAServerThatReceivesNothingMore() throws Exception {
        start(Duration.ofSeconds(1));
        for (int i = 0; i < BlockServer.DEPTH; i++) {
            fetch();
        }
        RdmaConnection connection = accept();
        asked(connection, BlockServer.DEPTH).forEach(each -> answer(connection, each, 0));
        for (int i = 0; i < BlockServer.DEPTH; i++) {
            // On a machine that is busy the answer may be late.
            told();
        }
        fetch();
        String reason = told();
        assertTrue(reason.contains("has not answered in 1000 ms"), reason);
    }

    /** Fetches until the client has connected once more, and has given up. Returns when the fetch began for which it did. */
    private long fetchUntilConnected() throws InterruptedException {
        long before = client.statistics().connections();
        Bound bound = Bound.of(LIMIT);
        while (true) {
            long start = System.nanoTime();
            fetch();
            told();
            if (client.statistics().connections() > before) {
                return start;
            }
            bound.check("it does not connect again");
            Thread.sleep(10);
        }
    }

    @Test
    void shouldLeaveAServerAloneForLongerEachTimeThatConnectsAndDoesNotAnswer() throws Exception {
        start(Duration.ofMillis(100));
        Thread accepting = Thread.ofPlatform().daemon().start(() -> {
            try {
                while (true) {
                    accept();
                }
            } catch (InterruptedException e) {
                // The test is over.
                return;
            }
        });
        fetchUntilConnected();
        long second = fetchUntilConnected();
        fetchUntilConnected();
        long nanos = System.nanoTime() - second;
        // One second after the first time, and two after the second one.
        assertTrue(nanos >= 2_000_000_000, () -> "it has connected again after " + nanos + " ns");
        accepting.interrupt();
        accepting.join();
    }

    /** Connects, through a device of which calls can fail. */
    private RdmaConnection connect(RecordingProvider provider, Device device) throws InterruptedException {
        ProtectionDomain domain = Insides.open(arena, device, () -> provider).allocateProtectionDomain();
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .protectionDomain(domain)
                .sendWorkRequests(ServerLink.SENDS)
                .receiveWorkRequests(BlockServer.DEPTH)
                .singleCompletionQueue(true)
                .completionEvents(true);
        try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
            executor.execute(() -> {
                try {
                    accepted.add(accept());
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            return new RdmaClient(arena).connect(server.localAddress(), options, LIMIT);
        }
    }

    private static Device soft0() {
        return DeviceList.query().stream()
                .filter(each -> each.name().equals("soft0"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void shouldTellOfBlocksThoughAQueuePairCannotBeDestroyed() throws Exception {
        RecordingProvider provider = RecordingProvider.of(soft0());
        RdmaConnection connection = connect(provider, soft0());
        RegisteredPool pool = RegisteredPool.create(connection.protectionDomain(), 1 << 20, AccessFlag.LOCAL_WRITE);
        TransferSettings settings = new TransferSettings(1, 1, LIMIT, LIMIT, LIMIT.multipliedBy(2), LIMIT);
        ServerLink link = new ServerLink(connection, pool, settings, new TransferStatistics());
        for (int i = 0; i <= BlockServer.DEPTH; i++) {
            link.fetch(new Fetch(List.of(BLOCK), listener, () -> {}));
        }
        RdmaConnection peer = accepted.take();
        answer(peer, asked(peer, 1).getFirst(), 1000);
        // The read fails.
        assertThrows(
                FailedCompletionException.class,
                () -> Bound.of(LIMIT).await("no answer", () -> {
                    link.progress();
                    return false;
                }));
        provider.failOnce("destroy_qp", Errno.EBUSY);
        assertFalse(link.fail("on purpose"));
        for (int i = 0; i <= BlockServer.DEPTH; i++) {
            assertEquals("on purpose", told());
        }
        assertTrue(pool.freeBytes() < pool.byteSize(), "the device may still write to the buffer");
        assertTrue(link.fail("again"));
        assertEquals(pool.byteSize(), pool.freeBytes());
        assertEquals(0, told.size(), "a block is told of twice");
    }

    @Test
    void shouldGoOnWhenAQueuePairOfAClientCannotBeDestroyed() throws Exception {
        RecordingProvider provider = RecordingProvider.of(soft0());
        RdmaConnection connection = connect(provider, soft0());
        provider.failOnce("destroy_qp", Errno.EBUSY);
        new ServedClient(connection).close();
        assertTrue(provider.verbs().contains("destroy_qp"));
        assertTrue(accepted.take().awaitDisconnect(LIMIT));
    }
}
