package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.internal.provider.Observed;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;

/** What a client can do that knows the secret and keeps to no rule, while another one goes on. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileClientTest {
    private static final byte[] SECRET = {1, 2, 3};
    private static final int BYTES = 100_000;
    private static final BlockRange BLOCK = new BlockRange(1, 7, 0, 1);
    private static final int RECEIVES = 64;
    private static final int FIRST_RECEIVE = 100;
    private static final Duration LIMIT = Duration.ofSeconds(60);

    /** Where a lease must not end meanwhile, also on a machine that has other things to do. */
    private static final Duration LONG_LEASE = LIMIT.multipliedBy(10);

    private static final Duration SHORT_LEASE = Duration.ofMillis(300);

    @TempDir
    private Path folder;

    private Path file;
    private byte[] content;
    private BlockServer server;
    private BlockClient other;
    private VerbsArena arena;
    private RdmaConnection connection;
    private MemoryRegion memory;
    private WorkCompletions completions;

    @BeforeEach
    void connect() throws Exception {
        file = folder.resolve("a.data");
        content = new byte[BYTES];
        new Random(1).nextBytes(content);
        Files.write(file, content);
        start(LONG_LEASE);
    }

    private void startAgain(Duration lease) throws InterruptedException {
        close();
        start(lease);
    }

    /** Starts a server whose leases last so long, another client, and connects. */
    private void start(Duration lease) throws InterruptedException {
        TransferSettings settings = new TransferSettings(1 << 20, 1 << 20, LIMIT, lease.minusMillis(1), lease, LIMIT);
        server = BlockServer.start(new InetSocketAddress("127.0.0.1", 0), this::locate, settings, SECRET);
        other = BlockClient.start(new TransferSettings(1, 1 << 20, LIMIT, LIMIT, LIMIT.multipliedBy(2), LIMIT), SECRET);
        arena = VerbsArena.ofShared();
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .privateData(Messages.greeting(SECRET))
                .singleCompletionQueue(true)
                .completionEvents(true)
                .prepare(this::postReceives);
        connection = new RdmaClient(arena).connect(server.address(), options, LIMIT);
        completions = new WorkCompletions(arena, 1);
    }

    private void postReceives(RdmaConnection made) {
        memory = made.protectionDomain().register(arena.allocate(1 << 20), AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < RECEIVES; i++) {
            made.queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1)
                            .id(FIRST_RECEIVE + i)
                            .add(memory, answerAt(i), Messages.BYTES));
        }
    }

    @AfterEach
    void close() {
        arena.close();
        other.close();
        server.close();
    }

    private BlockFiles.Location locate(BlockRange block) throws IOException {
        if (!block.equals(BLOCK)) {
            throw new IOException("no such block");
        }
        return new BlockFiles.Location(file, 0, BYTES);
    }

    private static long answerAt(int index) {
        return (index + 1L) * Messages.BYTES;
    }

    private MemorySegment question() {
        return memory.memory().asSlice(0, Messages.BYTES);
    }

    private void send(long bytes) {
        connection
                .queuePair()
                .postSend(SendWorkRequest.allocate(arena, 1)
                        .send()
                        .id(1)
                        .add(memory, 0, bytes)
                        .solicited(true)
                        .signaled(true));
    }

    private void ask(BlockRange block) {
        Messages.header(question(), Messages.ASK, 1, 5, 0);
        Messages.block(question(), 0, block);
        send(Messages.bytes(1));
    }

    /** Waits for the next completion. */
    private CompletionStatus complete() throws InterruptedException {
        assertEquals(1, connection.sendQueue().await(completions, LIMIT));
        return completions.status(0);
    }

    private MemorySegment answer() throws InterruptedException {
        do {
            assertEquals(CompletionStatus.SUCCESS, complete());
        } while (completions.id(0) < FIRST_RECEIVE);
        return memory.memory().asSlice(answerAt((int) completions.id(0) - FIRST_RECEIVE), Messages.BYTES);
    }

    private CompletionStatus read(MemorySegment answer, long offset, int length) throws InterruptedException {
        connection
                .queuePair()
                .postSend(SendWorkRequest.allocate(arena, 1)
                        .rdmaRead(Messages.address(answer, 0) + offset, Messages.rkey(answer, 0))
                        .id(2)
                        .add(memory, answerAt(RECEIVES), length)
                        .signaled(true));
        CompletionStatus status;
        do {
            status = complete();
        } while (completions.id(0) != 2);
        return status;
    }

    private void assertDisconnected() throws InterruptedException {
        assertTrue(connection.awaitDisconnect(LIMIT));
        assertOthersAreServed();
    }

    private void assertOthersAreServed() throws InterruptedException {
        assertNull(fetchByOther());
    }

    /** Another client gets the block, and gives it back. Returns null, or why it does not get it. */
    private String fetchByOther() throws InterruptedException {
        CountDownLatch arrived = new CountDownLatch(1);
        String[] reason = new String[1];
        other.fetch(server.address(), List.of(BLOCK), new BlockListener() {
            @Override
            public void arrived(BlockRange block, FetchedBlock buffer) {
                if (buffer.memory().mismatch(MemorySegment.ofArray(content)) != -1) {
                    reason[0] = "other bytes";
                }
                buffer.release();
                arrived.countDown();
            }

            @Override
            public void unavailable(BlockRange block, String why) {
                reason[0] = why;
                arrived.countDown();
            }
        });
        assertTrue(arrived.await(60, TimeUnit.SECONDS));
        return reason[0];
    }

    @Test
    void shouldDisconnectAClientThatSendsAnythingElse() throws Exception {
        question().fill((byte) 0x55);
        send(200);
        assertDisconnected();
    }

    @Test
    void shouldDisconnectAClientThatSendsHalfAMessage() throws Exception {
        Messages.header(question(), Messages.ASK, 2, 5, 0);
        send(Messages.bytes(1));
        assertDisconnected();
    }

    @Test
    void shouldDisconnectAClientWhoseMessageNamesTooManyBlocks() throws Exception {
        Messages.header(question(), Messages.ASK, Integer.MAX_VALUE, 5, 0);
        send(Messages.BYTES);
        assertDisconnected();
    }

    @Test
    void shouldDisconnectAClientThatAsksWithoutEnd() throws Exception {
        for (int i = 0; i < 100 && connection.isConnected(); i++) {
            Messages.header(question(), Messages.ASK, Messages.MOST_BLOCKS, 5, 0);
            for (int block = 0; block < Messages.MOST_BLOCKS; block++) {
                Messages.block(question(), block, new BlockRange(2, block, 0, 1));
            }
            try {
                send(Messages.bytes(Messages.MOST_BLOCKS));
            } catch (RuntimeException e) {
                // It is disconnected.
                break;
            }
        }
        assertOthersAreServed();
    }

    @Test
    void shouldAnswerThatPartitionsAreNotARange() throws Exception {
        Messages.header(question(), Messages.ASK, 1, 5, 0);
        MemorySegment entry = question().asSlice(Messages.HEADER);
        entry.fill((byte) -1);
        send(Messages.bytes(1));
        MemorySegment answer = answer();
        assertEquals(Messages.NOT_FOUND, Messages.outcome(answer, 0));
        assertEquals(5, Messages.request(answer));
        assertOthersAreServed();
    }

    @Test
    void shouldIgnoreThatALeaseIsGivenBackThatDoesNotExist() throws Exception {
        for (int lease = 0; lease < 200; lease++) {
            Messages.header(question(), Messages.RELEASE, 0, 0, lease);
            send(Messages.HEADER);
            assertEquals(CompletionStatus.SUCCESS, complete());
        }
        ask(BLOCK);
        MemorySegment answer = answer();
        assertEquals(Messages.LENT, Messages.outcome(answer, 0));
        assertEquals(CompletionStatus.SUCCESS, read(answer, 0, 1000));
        assertEquals(content[999], memory.memory().get(ValueLayout.JAVA_BYTE, answerAt(RECEIVES) + 999));
    }

    @Test
    void shouldLendNothingBesideTheFile() throws Exception {
        ask(BLOCK);
        MemorySegment answer = answer();
        assertEquals(CompletionStatus.REM_ACCESS_ERR, read(answer, BYTES - 10, 11));
        assertOthersAreServed();
    }

    @Test
    void shouldDisconnectAClientThatKeepsWhatItWasLent() throws Exception {
        startAgain(SHORT_LEASE);
        ask(BLOCK);
        assertEquals(Messages.LENT, Messages.outcome(answer(), 0));
        assertTrue(connection.awaitDisconnect(LIMIT));
        // The lease bounds the other client, too, which is slow where the machine is.
        Bound bound = Bound.of(LIMIT);
        for (String reason = fetchByOther(); reason != null; reason = fetchByOther()) {
            String last = reason;
            bound.check(() -> "another client gets no block: " + last);
            Thread.sleep(10);
        }
        server.forget(1, LIMIT);
        assertEquals(0, server.pinnedBytes());
    }

    @Test
    void shouldDisconnectAClientThatKeepsWhatItWasLentThoughNobodyCanConnectAnyMore() throws Exception {
        startAgain(SHORT_LEASE);
        Bound.of(LIMIT).await("the server does not take the connection", () -> server.clients() == 1);
        Observed.servers().keySet().stream()
                .map(RdmaServer.class::cast)
                .filter(each -> each.localAddress().equals(server.address()))
                .forEach(RdmaServer::close);
        ask(BLOCK);
        assertEquals(Messages.LENT, Messages.outcome(answer(), 0));
        assertTrue(connection.awaitDisconnect(LIMIT));
    }

    @Test
    void shouldDisconnectAClientThatAsksAndNeverGivesBack() throws Exception {
        for (int i = 0; i < 2 * BlockServer.DEPTH; i++) {
            ask(BLOCK);
            assertEquals(Messages.LENT, Messages.outcome(answer(), 0));
        }
        ask(BLOCK);
        assertDisconnected();
    }

    @Test
    void shouldRemoveAShuffleThoughAClientReadsIt() throws Exception {
        ask(BLOCK);
        assertEquals(Messages.LENT, Messages.outcome(answer(), 0));
        server.forget(1, Duration.ofMillis(50));
        assertEquals(0, server.pinnedBytes());
        assertTrue(connection.awaitDisconnect(LIMIT));
    }
}
