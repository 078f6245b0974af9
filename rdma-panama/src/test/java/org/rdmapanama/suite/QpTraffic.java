package org.rdmapanama.suite;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.Side;

/** Messages to and fro between two sides, every byte of which is checked: what the C suite calls traffic. */
final class QpTraffic {
    static final int IMMEDIATE = 0x8000_0123;
    static final int SIZE = 1024;

    /** In the buffers of both sides: where messages come from, where they arrive, and what peers read or write. */
    static final long SOURCE = 0;

    static final long TARGET = 4096;
    static final long REMOTE = 8192;

    private final ConnectedPair pair;
    private final int size;
    private final AddressHandle fromA;
    private final AddressHandle fromB;

    QpTraffic(ConnectedPair pair, int size) {
        this.pair = pair;
        this.size = size;
        boolean datagrams = pair.a.queuePair.type() == QueuePairType.UD;
        fromA = datagrams ? handle(pair.a, pair.b) : null;
        fromB = datagrams ? handle(pair.b, pair.a) : null;
    }

    private static AddressHandle handle(Side from, Side to) {
        return from.domain.createAddressHandle(from.queuePair.pathTo(to.queuePair.localEndpoint()));
    }

    /** Begins an operation towards a side. */
    @FunctionalInterface
    interface Operation {
        WorkRequestBuilder begin(WorkRequestBuilder batch, Side to);
    }

    /** The same with a work request. */
    @FunctionalInterface
    interface Request {
        SendWorkRequest make(SendWorkRequest request, Side to);
    }

    /** Posts the operation in a batch of its own. */
    private Consumer<Long> builder(Side from, Side to, Operation operation) {
        return id -> {
            try (WorkRequestBuilder batch = from.batch().id(id)) {
                operation.begin(batch, to);
                if (from.queuePair.type() == QueuePairType.UD) {
                    batch.to(from.equals(pair.a) ? fromA : fromB, to.queuePair.number(), 0x1111_1111);
                }
                if (size > 0) {
                    batch.add(from.region, SOURCE, size);
                }
                batch.complete();
            }
        };
    }

    private Consumer<Long> request(Side from, Side to, Request operation) {
        return id -> {
            SendWorkRequest request = from.request(id, SOURCE, size);
            if (from.queuePair.type() == QueuePairType.UD) {
                request.to(from.equals(pair.a) ? fromA : fromB, to.queuePair.number(), 0x1111_1111);
            }
            from.post(operation.make(request, to));
        };
    }

    /** Sends that use up receives, both ways in turn. */
    void sends(int times, CompletionOpcode received, boolean immediate, Operation operation) {
        for (int i = 0; i < times; i++) {
            send(i, pair.a, pair.b, received, immediate, builder(pair.a, pair.b, operation));
            send(i, pair.b, pair.a, received, immediate, builder(pair.b, pair.a, operation));
        }
    }

    /** The same with work requests. */
    void sends(int times, Request operation) {
        for (int i = 0; i < times; i++) {
            send(i, pair.a, pair.b, CompletionOpcode.RECV, false, request(pair.a, pair.b, operation));
            send(i, pair.b, pair.a, CompletionOpcode.RECV, false, request(pair.b, pair.a, operation));
        }
    }

    private void send(int round, Side from, Side to, CompletionOpcode opcode, boolean immediate, Consumer<Long> post) {
        boolean write = opcode == CompletionOpcode.RECV_RDMA_WITH_IMM;
        long front = from.queuePair.type() == QueuePairType.UD ? AddressHandle.GRH_BYTES : 0;
        long id = 1000L + round;
        to.postReceive(2000 + round, TARGET, write ? 0 : front + size);
        FillPattern.fill(from.memory.asSlice(SOURCE, size), round);
        to.memory.asSlice(write ? REMOTE : TARGET + front, size).fill((byte) 0);
        post.accept(id);
        from.await().is(write ? CompletionOpcode.RDMA_WRITE : CompletionOpcode.SEND, id);
        Completion received = to.await().is(opcode, 2000 + round);
        assertEquals(immediate, received.hasImmediate());
        if (immediate) {
            assertEquals(IMMEDIATE, received.immediate());
        }
        assertEquals(write ? size : front + size, received.byteLength());
        assertSame(from.memory.asSlice(SOURCE, size), to.memory.asSlice(write ? REMOTE : TARGET + front, size));
    }

    /** Writes or reads of which the peer notices nothing, both ways in turn. */
    void remote(int times, CompletionOpcode opcode, Operation operation) {
        for (int i = 0; i < times; i++) {
            remote(i, pair.a, pair.b, opcode, operation);
            remote(i, pair.b, pair.a, opcode, operation);
        }
    }

    private void remote(int round, Side from, Side to, CompletionOpcode opcode, Operation operation) {
        boolean read = opcode == CompletionOpcode.RDMA_READ;
        MemorySegment source = read ? to.memory.asSlice(REMOTE, size) : from.memory.asSlice(SOURCE, size);
        MemorySegment target = read ? from.memory.asSlice(SOURCE, size) : to.memory.asSlice(REMOTE, size);
        FillPattern.fill(source, round);
        target.fill((byte) 0);
        builder(from, to, operation).accept((long) round);
        from.await().is(opcode, round);
        assertSame(source, target);
        assertEquals(0, to.poll().size(), "the peer notices nothing");
    }

    /** What an atomic does to eight bytes of a peer: the bytes there before, the operand; and what is there afterwards. */
    static void atomic(ConnectedPair pair, int times, long before, long after, Consumer<Side> post) {
        for (int i = 0; i < times; i++) {
            atomic(pair.a, pair.b, before, after, post);
            atomic(pair.b, pair.a, before, after, post);
        }
    }

    private static void atomic(Side from, Side to, long before, long after, Consumer<Side> post) {
        from.memory.set(JAVA_LONG, SOURCE, ~before);
        to.memory.set(JAVA_LONG, REMOTE, before);
        post.accept(from);
        Completion completion = from.await();
        assertEquals(CompletionStatus.SUCCESS, completion.status(), completion.text());
        assertEquals(before, from.memory.get(JAVA_LONG, SOURCE), "what was there");
        assertEquals(after, to.memory.get(JAVA_LONG, REMOTE), "what is there now");
    }

    private static void assertSame(MemorySegment expected, MemorySegment actual) {
        assertTrue(expected.mismatch(actual) < 0, () -> "the data differs from byte " + expected.mismatch(actual));
    }
}
