package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.Side;

/** A client and a server of one process that are connected, each with its memory. */
final class Pair implements AutoCloseable {
    /** Bytes of each side's region. */
    static final int BYTES = 64 * 1024;

    /** One side. */
    static final class End extends Side {
        final RdmaConnection connection;
        final WorkCompletions completions = new WorkCompletions(arena, 1);

        private End(VerbsArena arena, RdmaConnection connection) {
            // Also for peers to write: on iWARP what an RDMA READ brings comes as if they wrote it.
            super(
                    arena,
                    connection.protectionDomain(),
                    null,
                    connection.queuePair(),
                    connection
                            .protectionDomain()
                            .register(arena.allocate(BYTES, 4096), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ),
                    Lab.SECONDS);
            this.connection = connection;
        }

        MemoryRegion register(long bytes, AccessFlag... flags) {
            return domain.register(arena.allocate(bytes, 4096), flags);
        }

        SendWorkRequest request(long id) {
            return request(id, 0, 0);
        }

        ReceiveWorkRequest receive(long id) {
            return receiveRequest(id, 0, 0);
        }

        /** Waits for the next send to complete, in any way. */
        CompletionStatus sent(long id) throws InterruptedException {
            return await(connection.sendQueue(), id);
        }

        CompletionStatus received(long id) throws InterruptedException {
            return await(connection.receiveQueue(), id);
        }

        private CompletionStatus await(CompletionQueue from, long id) throws InterruptedException {
            Bound.of(Lab.SECONDS)
                    .await(() -> "no completion of " + id + " of " + connection, () -> from.poll(completions) > 0);
            assertEquals(id, completions.id(0), () -> completions.describe(0));
            return completions.status(0);
        }

        /** Waits until a send succeeded. */
        void complete(long id, CompletionOpcode opcode) throws InterruptedException {
            CompletionStatus status = opcode == CompletionOpcode.RECV ? received(id) : sent(id);
            assertEquals(CompletionStatus.SUCCESS, status, () -> completions.describe(0));
            assertEquals(opcode, completions.opcode(0));
        }

        void fill(long offset, long count, int seed) {
            FillPattern.fill(memory.asSlice(offset, count), seed);
        }

        void assertFilled(long offset, long count, int seed) {
            FillPattern.assertFilled(memory.asSlice(offset, count), seed);
        }
    }

    final VerbsArena arena;
    final End left;
    final End right;

    /** Both sides with the same options. */
    Pair(LabWire network, int port, Consumer<RdmaConnectionOptions> options) throws Exception {
        this(VerbsArena.ofShared(), network, port, options, options);
    }

    /** The client with the first options, and an address as well, and the server with the second ones. */
    Pair(
            VerbsArena arena,
            LabWire network,
            int port,
            Consumer<RdmaConnectionOptions> ofLeft,
            Consumer<RdmaConnectionOptions> ofRight)
            throws Exception {
        this.arena = arena;
        RdmaConnectionOptions passive = new RdmaConnectionOptions();
        ofRight.accept(passive);
        RdmaServerOptions serving = new RdmaServerOptions().connections(passive);
        try (RdmaServer server = RdmaServer.listen(arena, network.second(port), serving)) {
            FutureTask<RdmaConnection> accepting =
                    new FutureTask<>(() -> server.accept(Lab.SECONDS).orElseThrow());
            Thread.ofPlatform().start(accepting);
            RdmaConnectionOptions active = new RdmaConnectionOptions().localAddress(network.first(0));
            ofLeft.accept(active);
            left = new End(arena, new RdmaClient(arena).connect(network.second(port), active, Lab.SECONDS));
            right = new End(arena, accepting.get(30, TimeUnit.SECONDS));
        } catch (Exception | Error e) {
            Releasing.after(e, arena);
            throw e;
        }
    }

    /** Ends the connection. Who ends it waits for the other side's answer, which that gives when it is told. */
    void disconnect() throws Exception {
        FutureTask<Boolean> answering = new FutureTask<>(() -> right.connection.awaitDisconnect(Lab.SECONDS));
        Thread.ofPlatform().start(answering);
        left.connection.disconnect(Lab.SECONDS);
        assertTrue(answering.get(30, TimeUnit.SECONDS));
    }

    @Override
    public void close() {
        left.connection.close();
        right.connection.close();
        arena.close();
    }
}
