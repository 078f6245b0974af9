package org.rdmapanama.spark.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.CmEvent;
import org.rdmapanama.cm.CmEventType;
import org.rdmapanama.cm.CmId;
import org.rdmapanama.cm.ConnectionParameters;
import org.rdmapanama.cm.EventChannel;
import org.rdmapanama.cm.PortSpace;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairState;

/** A client that asks for blocks in the middle of its handshake, and then ends that: the server never gets to know it. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnfinishedHandshakeTest {
    private static final byte[] SECRET = {1, 2, 3};
    private static final int BYTES = 1000;
    private static final Duration LIMIT = Duration.ofSeconds(50);

    @TempDir
    private Path folder;

    private static CmEvent await(EventChannel channel, CmEventType type) throws InterruptedException {
        CmEvent event = channel.await(LIMIT).orElseThrow();
        assertEquals(type, event.type(), event::toString);
        return event;
    }

    /** Asks for a block before the handshake is over, gets an answer, and refuses the connection. */
    private static void askAndLeave(VerbsArena arena, EventChannel channel, InetSocketAddress server) throws Exception {
        CmId id = channel.createId(PortSpace.TCP);
        id.resolveAddress(server, LIMIT);
        await(channel, CmEventType.ADDR_RESOLVED);
        id.resolveRoute(LIMIT);
        await(channel, CmEventType.ROUTE_RESOLVED);
        ProtectionDomain domain = id.openContext(arena).allocateProtectionDomain();
        CompletionQueue queue =
                domain.context().createCompletionQueue(2, domain.context().createCompletionChannel(), 0);
        QueuePair pair = domain.createQueuePair(new QueuePairOptions(id.queuePairType(), queue)
                .maxSendWorkRequests(1)
                .maxReceiveWorkRequests(1));
        MemoryRegion memory = domain.register(arena.allocate(2 * Messages.BYTES), AccessFlag.LOCAL_WRITE);
        id.initialize(pair);
        pair.postReceive(ReceiveWorkRequest.allocate(arena, 1).id(1).add(memory, Messages.BYTES, Messages.BYTES));
        id.connect(pair, new ConnectionParameters().privateData(Messages.greeting(SECRET)));
        await(channel, CmEventType.CONNECT_RESPONSE);
        pair.modify(id.queuePairAttributes(QueuePairState.RTR));
        pair.modify(id.queuePairAttributes(QueuePairState.RTS));
        MemorySegment question = memory.memory();
        Messages.header(question, Messages.ASK, 1, 5, 0);
        Messages.block(question, 0, new BlockRange(1, 7, 0, 1));
        pair.postSend(SendWorkRequest.allocate(arena, 1)
                .send()
                .id(0)
                .add(memory, 0, Messages.bytes(1))
                .signaled(true));
        WorkCompletions completions = new WorkCompletions(arena, 1);
        do {
            assertEquals(1, queue.await(completions, LIMIT));
            completions.check(0);
        } while (completions.id(0) == 0);
        assertEquals(Messages.LENT, Messages.outcome(question.asSlice(Messages.BYTES), 0));
        id.reject();
    }

    @Test
    void shouldTakeBackWhatWasLentToAClientThatIsNeverConnected() throws Exception {
        Path file = Files.write(folder.resolve("a.data"), new byte[BYTES]);
        TransferSettings settings = new TransferSettings(1 << 20, 1 << 20, LIMIT, LIMIT, LIMIT.multipliedBy(10), LIMIT);
        try (VerbsArena arena = VerbsArena.ofShared();
                EventChannel channel = EventChannel.create();
                BlockServer server = BlockServer.start(
                        new InetSocketAddress("127.0.0.1", 0),
                        block -> new BlockFiles.Location(file, 0, BYTES),
                        settings,
                        SECRET)) {
            askAndLeave(arena, channel, server.address());
            assertEquals(BYTES, server.pinnedBytes());
            server.forget(1, Duration.ofSeconds(20));
            assertEquals(0, server.pinnedBytes(), "the lease stays for ever");
        }
    }
}
