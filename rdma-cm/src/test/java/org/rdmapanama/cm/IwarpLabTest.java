package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.Lab;

/** Connections over Software iWARP, where the kernel takes queue pairs through their states. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class IwarpLabTest {
    @BeforeEach
    void needsTheKernel() {
        Lab.assumeInLab("it is no iWARP device");
    }

    private static final int PORT = 7490;
    private static final int BYTES = 4096;

    private static InetSocketAddress first(int port) {
        return new InetSocketAddress("10.78.0.1", port);
    }

    private static InetSocketAddress second(int port) {
        return new InetSocketAddress("10.78.0.2", port);
    }

    /** One end: a region, half of it for what comes, with a receive posted. */
    private static final class End {
        final VerbsArena arena;
        MemoryRegion region;

        End(VerbsArena arena) {
            this.arena = arena;
        }

        void prepare(RdmaConnection connection) {
            // On iWARP what an RDMA READ brings is written as a peer writes.
            region = connection
                    .protectionDomain()
                    .register(
                            arena.allocate(2 * BYTES, BYTES),
                            AccessFlag.LOCAL_WRITE,
                            AccessFlag.REMOTE_WRITE,
                            AccessFlag.REMOTE_READ);
            connection
                    .queuePair()
                    .postReceive(ReceiveWorkRequest.allocate(arena, 1).id(9).add(region, BYTES, BYTES));
        }

        SendWorkRequest request(long id, long length) {
            return SendWorkRequest.allocate(arena, 1)
                    .id(id)
                    .add(region, 0, length)
                    .signaled(true);
        }

        void post(RdmaConnection connection, SendWorkRequest request, CompletionOpcode expected) throws Exception {
            connection.queuePair().postSend(request);
            complete(connection.sendQueue(), expected, request.id());
        }

        void complete(CompletionQueue queue, CompletionOpcode opcode, long id) throws InterruptedException {
            WorkCompletions completions = new WorkCompletions(arena, 1);
            Completions.awaitAny(queue, completions);
            assertEquals(CompletionStatus.SUCCESS, completions.status(0), () -> completions.describe(0));
            assertEquals(opcode, completions.opcode(0));
            assertEquals(id, completions.id(0));
        }
    }

    @Test
    void shouldSendWriteAndRead() throws Exception {
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, second(PORT))) {
            End passive = new End(arena);
            FutureTask<RdmaConnection> accepting = new FutureTask<>(() -> server.awaitRequest(Lab.SECONDS)
                    .orElseThrow()
                    .accept(
                            new RdmaConnectionOptions()
                                    .privateData(PrivateData.bytes("welcome"))
                                    .prepare(passive::prepare),
                            Lab.SECONDS));
            Thread.ofPlatform().start(accepting);
            End active = new End(arena);
            RdmaConnectionOptions options = new RdmaConnectionOptions()
                    .localAddress(first(0))
                    .privateData(PrivateData.bytes("hello"))
                    .prepare(active::prepare);
            try (RdmaConnection left = new RdmaClient(arena).connect(second(PORT), options, Lab.SECONDS);
                    RdmaConnection right = accepting.get(30, TimeUnit.SECONDS)) {
                assertEquals("hello", PrivateData.text(right.privateData()));
                assertEquals("welcome", PrivateData.text(left.privateData()));
                assertEquals(TransportType.IWARP, left.queuePair().context().transportType());

                // The side that connected speaks first.
                active.region.memory().setString(0, "a message");
                active.post(left, active.request(1, 64).send(), CompletionOpcode.SEND);
                passive.complete(right.receiveQueue(), CompletionOpcode.RECV, 9);
                assertEquals("a message", passive.region.memory().getString(BYTES));

                fill(active.region.memory(), 3);
                active.post(
                        left,
                        active.request(2, BYTES).rdmaWrite(passive.region.address(), passive.region.rkey()),
                        CompletionOpcode.RDMA_WRITE);
                // A read behind the write: on iWARP a write completes before it has arrived.
                active.region.memory().asSlice(0, BYTES).fill((byte) 0);
                active.post(
                        left,
                        active.request(3, BYTES).rdmaRead(passive.region.address(), passive.region.rkey()),
                        CompletionOpcode.RDMA_READ);
                assertFilled(passive.region.memory(), 3);
                assertFilled(active.region.memory(), 3);

                passive.region.memory().setString(0, "an answer");
                passive.post(right, passive.request(4, 64).send(), CompletionOpcode.SEND);
                active.complete(left.receiveQueue(), CompletionOpcode.RECV, 9);
                assertEquals("an answer", active.region.memory().getString(BYTES));
                left.disconnect(Lab.SECONDS);
                assertTrue(right.awaitDisconnect(Lab.SECONDS));
            }
        }
        Lab.assertNothingLeft(before);
    }

    private static void fill(MemorySegment memory, int seed) {
        for (int i = 0; i < BYTES; i++) {
            memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * seed));
        }
    }

    private static void assertFilled(MemorySegment memory, int seed) {
        for (int i = 0; i < BYTES; i++) {
            assertEquals((byte) (i * seed), memory.get(ValueLayout.JAVA_BYTE, i), "byte " + i);
        }
    }

    @Test
    void shouldSayThatNobodyListens() throws Exception {
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(first(0));
            RdmaClient client = new RdmaClient(arena);
            assertThrows(ConnectionException.class, () -> client.connect(second(PORT + 1), options, Lab.SECONDS));
        }
        Lab.assertNothingLeft(before);
    }

    @Test
    void shouldBringTheReasonOfARejection() throws Exception {
        List<String> before = Lab.resources();
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaServer server = RdmaServer.listen(arena, second(PORT + 2))) {
            FutureTask<Void> rejecting = new FutureTask<>(() -> {
                server.awaitRequest(Lab.SECONDS).orElseThrow().reject(PrivateData.bytes("not today"));
                return null;
            });
            Thread.ofPlatform().start(rejecting);
            RdmaConnectionOptions options = new RdmaConnectionOptions().localAddress(first(0));
            RdmaClient client = new RdmaClient(arena);
            RejectedException rejected =
                    assertThrows(RejectedException.class, () -> client.connect(second(PORT + 2), options, Lab.SECONDS));
            assertEquals("not today", PrivateData.text(rejected.privateData()));
            rejecting.get(30, TimeUnit.SECONDS);
        }
        Lab.assertNothingLeft(before);
    }
}
