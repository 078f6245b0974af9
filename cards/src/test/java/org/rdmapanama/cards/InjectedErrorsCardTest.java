package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Side;

/**
 * The errors that a ConnectX card can report, each one injected into it: through libmlx5 and directly a program gets the same
 * statuses, and what follows is flushed.
 */
@Tag("card")
class InjectedErrorsCardTest {
    private static final int BYTES = 4096;
    private static final int ENTRIES = 63;
    private static final int FOLLOWING = 3;
    private static final int MORE_THAN_FIT = 20;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = Context.open(arena, "mlx5_0");
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private Side a;
    private Side b;

    @AfterEach
    void close() {
        arena.close();
    }

    /** What mlx5dv.h defines, and a syndrome that it does not. */
    static Stream<Arguments> errors() {
        Object[][] statuses = {
            {0x01, CompletionStatus.LOC_LEN_ERR},
            {0x02, CompletionStatus.LOC_QP_OP_ERR},
            {0x04, CompletionStatus.LOC_PROT_ERR},
            {0x05, CompletionStatus.WR_FLUSH_ERR},
            {0x06, CompletionStatus.MW_BIND_ERR},
            {0x10, CompletionStatus.BAD_RESP_ERR},
            {0x11, CompletionStatus.LOC_ACCESS_ERR},
            {0x12, CompletionStatus.REM_INV_REQ_ERR},
            {0x13, CompletionStatus.REM_ACCESS_ERR},
            {0x14, CompletionStatus.REM_OP_ERR},
            {0x15, CompletionStatus.RETRY_EXC_ERR},
            {0x16, CompletionStatus.RNR_RETRY_EXC_ERR},
            {0x22, CompletionStatus.REM_ABORT_ERR},
            {0x7f, CompletionStatus.GENERAL_ERR}
        };
        List<Arguments> all = new ArrayList<>();
        for (Object[] each : statuses) {
            for (boolean direct : new boolean[] {false, true}) {
                all.add(Arguments.of(each[0], each[1], direct));
            }
        }
        return all.stream();
    }

    private Side side(boolean direct, int entries) {
        ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(entries)
                .fields(CompletionField.QP_NUM)
                .direct(direct));
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(32)
                .maxReceiveWorkRequests(32));
        assertEquals(direct || Boolean.getBoolean("org.rdmapanama.direct"), queuePair.isDirect());
        MemoryRegion region =
                domain.register(arena.allocate(BYTES, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        return new Side(arena, domain, null, queuePair, region, Bound.USUAL);
    }

    private void open(boolean direct, int entries) {
        a = side(direct, entries);
        b = side(false, ENTRIES);
        connect();
    }

    private void connect() {
        Endpoint ofA = a.queuePair.localEndpoint();
        a.queuePair.connect(b.queuePair.localEndpoint());
        b.queuePair.connect(ofA);
    }

    private SendWorkRequest write(long id) {
        return a.request(id, 0, 8).rdmaWrite(b.region.address(), b.region.rkey());
    }

    private record Found(long id, CompletionStatus status, int vendorError, int queuePair) {}

    /** Waits for completions, in place or copied. */
    private List<Found> await(int count, boolean inPlace) {
        List<Found> found = new ArrayList<>();
        WorkCompletions batch = new WorkCompletions(arena, 4);
        Bound.usual().spin("too few completions", () -> {
            if (inPlace) {
                try (PollCursor cursor = a.extended().poll()) {
                    while (cursor.next()) {
                        found.add(new Found(
                                cursor.id(), cursor.status(), cursor.vendorError(), cursor.queuePairNumber()));
                    }
                }
            } else {
                int ready = a.queue.poll(batch);
                for (int i = 0; i < ready; i++) {
                    found.add(new Found(batch.id(i), batch.status(i), batch.vendorError(i), batch.queuePairNumber(i)));
                }
            }
            return found.size() >= count;
        });
        assertEquals(count, found.size(), found::toString);
        return found;
    }

    /** Compares the completions of a work request that was failed and of those behind it. */
    private void assertFailed(List<Found> found, CompletionStatus status, int vendorError) {
        int number = a.queuePair.number();
        assertEquals(new Found(10, status, vendorError, number), found.getFirst());
        for (int i = 1; i < found.size(); i++) {
            assertEquals(10 + i, found.get(i).id());
            assertEquals(CompletionStatus.WR_FLUSH_ERR, found.get(i).status());
            assertEquals(number, found.get(i).queuePair());
        }
        a.awaitState(QueuePairState.ERR);
    }

    @ParameterizedTest
    @MethodSource("errors")
    void shouldTellOfASendThatFails(int syndrome, CompletionStatus status, boolean direct) {
        open(direct, ENTRIES);
        for (boolean inPlace : new boolean[] {false, true}) {
            a.post(write(1));
            assertEquals(CompletionStatus.SUCCESS, await(1, inPlace).getFirst().status());
            int vendorError = 0x80 | syndrome;
            Cards.failNext(a.queuePair.number(), false, syndrome, vendorError);
            SendWorkRequest first = null;
            // Those that are not signaled fail visibly, too.
            for (int i = FOLLOWING; i >= 0; i--) {
                SendWorkRequest each = write(10 + i).signaled(i % 2 == 0);
                first = first == null ? each : each.next(first);
            }
            a.post(first);
            assertFailed(await(1 + FOLLOWING, inPlace), status, vendorError);
            restart();
        }
    }

    @ParameterizedTest
    @MethodSource("errors")
    void shouldTellOfAReceiveThatFails(int syndrome, CompletionStatus status, boolean direct) {
        open(direct, ENTRIES);
        for (boolean inPlace : new boolean[] {false, true}) {
            int vendorError = 0xff ^ syndrome;
            Cards.failNext(a.queuePair.number(), true, syndrome, vendorError);
            a.queuePair.postReceive(
                    a.receiveRequest(10, 0, 8).next(a.receiveRequest(11, 0, 8).next(a.receiveRequest(12, 0, 8))));
            assertFailed(await(3, inPlace), status, vendorError);
            restart();
        }
    }

    /** A queue pair that has failed begins anew. */
    private void restart() {
        for (Side each : List.of(a, b)) {
            each.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        }
        connect();
        a.post(write(5));
        assertEquals(5, await(1, false).getFirst().id());
    }

    /** What the queue holds can be read; its queue pairs fail, and nothing else comes. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldFailWhenACompletionQueueOverruns(boolean direct) throws InterruptedException {
        open(direct, 7);
        int capacity = a.queue.entries() + 1;
        assertEquals(8, capacity);
        for (int i = 0; i < MORE_THAN_FIT; i++) {
            a.post(write(i));
        }
        AsyncEvent event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.CQ_ERR, event.type());
        assertEquals(a.queue, event.source());
        event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.QP_FATAL, event.type());
        assertEquals(a.queuePair, event.source());
        a.awaitState(QueuePairState.ERR);
        List<Found> found = await(capacity, direct);
        for (int i = 0; i < capacity; i++) {
            assertEquals(new Found(i, CompletionStatus.SUCCESS, 0, a.queuePair.number()), found.get(i));
        }
        assertEquals(0, a.queue.poll(new WorkCompletions(arena, 1)));
    }

    @Test
    void shouldRefuseAQueuePairThatNoCardHas() {
        assertThrows(IllegalArgumentException.class, () -> Cards.failNext(0xabcdef, false, 1, 1));
    }
}
