package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RdmaServer;
import org.rdmapanama.cm.RdmaServerOptions;
import org.rdmapanama.memory.AccessFlag;

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
        client.close();
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

    /** Says that a block without bytes is lent, in the message that has asked for it. */
    private void answer(RdmaConnection connection, int index) {
        MemorySegment message = memory.memory().asSlice((long) index * Messages.BYTES, Messages.BYTES);
        assertEquals(Messages.ASK, Messages.kind(message));
        Messages.header(message, Messages.ANSWER, 1, Messages.request(message), index);
        Messages.lent(message, 0, 0, 0, 0);
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
        WorkCompletions completions = new WorkCompletions(connection.receiveQueue(), BlockServer.DEPTH);
        List<Integer> asked = new ArrayList<>();
        while (asked.size() < BlockServer.DEPTH) {
            int count = connection.receiveQueue().await(completions, LIMIT);
            assertTrue(count > 0, "a question does not come");
            for (int i = 0; i < count; i++) {
                completions.check(i);
                asked.add((int) completions.id(i));
            }
        }
        asked.forEach(each -> answer(connection, each));
        for (int i = 0; i < BlockServer.DEPTH; i++) {
            // On a machine that is busy the answer may be late.
            told();
        }
        fetch();
        String reason = told();
        assertTrue(reason.contains("has not answered in 1000 ms"), reason);
    }
}
