package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completions;

/** Calls that differ, ranks that leave or do not answer, and strangers: all ranks learn, and nobody hangs. */
@Tag("lab")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailuresLabTest {
    /** Long enough for a busy machine, short enough to wait for. */
    private static final GroupOptions IMPATIENT = new GroupOptions(5, Ranks.LIMIT, Duration.ofSeconds(2));

    /** So that the group need not wait for the intruder to take its last message. */
    private static final int RECEIVES = 8;

    private static void call(Group group, String text) throws InterruptedException {
        String[] words = text.split(" ", -1);
        if (words[0].equals("barrier")) {
            group.barrier();
            return;
        }
        Vector vector = group.allocate(ElementType.valueOf(words[2]), Long.parseLong(words[1]));
        switch (words[0]) {
            case "broadcast" -> group.broadcast(vector, Integer.parseInt(words[3]));
            case "gather" -> group.allGather(vector);
            default -> group.allReduce(vector, Reduction.valueOf(words[3]));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "barrier, reduce 10 FLOAT SUM",
        "barrier, reduce 100000 FLOAT SUM",
        "barrier, broadcast 10 FLOAT 0",
        "reduce 10 FLOAT SUM, reduce 10 DOUBLE SUM",
        "reduce 10 FLOAT SUM, reduce 10 FLOAT MAX",
        "reduce 10 FLOAT SUM, reduce 11 FLOAT SUM",
        "reduce 10 FLOAT SUM, reduce 100000 FLOAT SUM",
        "reduce 100000 FLOAT SUM, reduce 100001 FLOAT SUM",
        "gather 0 FLOAT, reduce 0 FLOAT SUM",
        "gather 100000 DOUBLE, gather 200000 FLOAT",
        "broadcast 10 FLOAT 0, broadcast 10 FLOAT 1",
        "broadcast 10 FLOAT 0, broadcast 100000 FLOAT 0",
        "broadcast 100000 FLOAT 1, broadcast 100000 FLOAT 0",
        "broadcast 0 FLOAT 0, gather 0 FLOAT",
    })
    void shouldFailOnAllRanksWhenCallsDiffer(String most, String one) throws Exception {
        for (int size = 2; size <= 4; size++) {
            for (int odd = 0; odd < size; odd += size - 1) {
                int different = odd;
                try (Ranks ranks = new Ranks(size)) {
                    List<CollectiveException> failures =
                            ranks.fail(group -> call(group, group.rank() == different ? one : most));
                    for (CollectiveException each : failures) {
                        assertTrue(each.getMessage().contains("makes another call"), each::getMessage);
                    }
                    assertTrue(
                            failures.stream().anyMatch(each -> each.getMessage().contains(", and rank ")),
                            failures::toString);
                    // What has failed stays failed.
                    ranks.fail(Group::barrier);
                }
            }
        }
    }

    @Test
    void shouldFailWhenEachRankExpectsAnotherRoot() throws Exception {
        try (Ranks ranks = new Ranks(3)) {
            ranks.fail(group -> call(group, "broadcast 10 FLOAT " + (group.rank() + 1) % 3));
        }
    }

    @Test
    void shouldFinishTheLastCallWhenOthersHaveLeftAndRefuseTheNext() throws Exception {
        for (int round = 0; round < 5; round++) {
            try (Ranks ranks = new Ranks(3)) {
                List<Optional<CollectiveException>> after = ranks.ask(group -> {
                    call(group, "reduce 50000 FLOAT SUM");
                    if (group.rank() == 1) {
                        group.close();
                        return Optional.empty();
                    }
                    return Optional.of(assertThrows(CollectiveException.class, group::barrier));
                });
                for (Optional<CollectiveException> each : after) {
                    each.ifPresent(failure -> {
                        assertEquals(1, failure.rank());
                        assertTrue(failure.getMessage().contains("has left the group"), failure::getMessage);
                    });
                }
            }
        }
    }

    @Test
    void shouldTellOfARankThatDoesNotCall() throws Exception {
        try (Ranks ranks = new Ranks(4, IMPATIENT)) {
            long start = System.nanoTime();
            List<Optional<CollectiveException>> failures = ranks.ask(group -> group.rank() == 2
                    ? Optional.empty()
                    : Optional.of(assertThrows(CollectiveException.class, group::barrier)));
            assertTrue(System.nanoTime() - start >= IMPATIENT.silence().toNanos(), "reported too early");
            for (Optional<CollectiveException> each : failures) {
                each.ifPresent(failure -> {
                    assertEquals(2, failure.rank(), failure::getMessage);
                    assertTrue(failure.getMessage().contains("does not answer"), failure::getMessage);
                });
            }
            assertThrows(CollectiveException.class, ranks.group(2)::barrier);
        }
    }

    @Test
    void shouldFailOnAllRanksWhenOneIsInterrupted() throws Exception {
        try (Ranks ranks = new Ranks(3)) {
            List<Optional<CollectiveException>> failures = ranks.ask(group -> {
                if (group.rank() == 1) {
                    Thread.currentThread().interrupt();
                    assertThrows(InterruptedException.class, () -> {
                        while (true) {
                            group.barrier();
                        }
                    });
                    return Optional.empty();
                }
                return Optional.of(assertThrows(CollectiveException.class, () -> {
                    while (true) {
                        group.barrier();
                    }
                }));
            });
            for (Optional<CollectiveException> each : failures) {
                each.ifPresent(failure -> assertEquals(1, failure.rank(), failure::getMessage));
            }
        }
    }

    @Test
    void shouldNameTheRanksThatAreMissing() {
        List<InetSocketAddress> addresses = Ranks.addresses(4);
        GroupOptions options = new GroupOptions(5, Duration.ofMillis(500), Ranks.LIMIT);
        CollectiveException e = assertThrows(CollectiveException.class, () -> Group.join(1, addresses, options));
        assertEquals(0, e.rank());
        assertTrue(e.getMessage().startsWith("ranks 0 at "), e::getMessage);
        assertTrue(e.getMessage().contains(", 2 at ") && e.getMessage().contains(", 3 at "), e::getMessage);
        assertFalse(e.getMessage().contains(", 1 at "), e::getMessage);
    }

    private static Future<Group> joining(int rank, List<InetSocketAddress> addresses, GroupOptions options) {
        FutureTask<Group> task = new FutureTask<>(() -> Group.join(rank, addresses, options));
        Thread.ofPlatform().daemon().start(task);
        return task;
    }

    @Test
    void shouldNotJoinRanksOfOtherGroupsOrSizes() throws Exception {
        List<InetSocketAddress> addresses = Ranks.addresses(3);
        GroupOptions options = new GroupOptions(5, Duration.ofSeconds(5), Ranks.LIMIT);
        Future<Group> zero = joining(0, addresses, options);
        Future<Group> other = joining(1, addresses, new GroupOptions(6, Duration.ofSeconds(5), Ranks.LIMIT));
        ExecutionException e = assertThrows(ExecutionException.class, () -> other.get(30, TimeUnit.SECONDS));
        assertTrue(e.getMessage().contains("is of another group"), e::getMessage);
        Future<Group> larger = joining(1, List.of(addresses.get(0), addresses.get(1)), options);
        e = assertThrows(ExecutionException.class, () -> larger.get(30, TimeUnit.SECONDS));
        assertTrue(e.getMessage().contains("another number of ranks"), e::getMessage);
        assertThrows(ExecutionException.class, () -> zero.get(30, TimeUnit.SECONDS));
    }

    /** Connects with any private data, as nobody of the group would. */
    private static RdmaConnection intrude(VerbsArena arena, InetSocketAddress address, byte[] hello) throws Exception {
        RdmaConnectionOptions options = new RdmaConnectionOptions()
                .privateData(hello)
                .singleCompletionQueue(true)
                .receiveWorkRequests(RECEIVES)
                .prepare(connection -> {
                    MemoryRegion memory = connection.register(64 * 1024, AccessFlag.LOCAL_WRITE);
                    for (int i = 0; i < RECEIVES; i++) {
                        connection
                                .queuePair()
                                .postReceive(ReceiveWorkRequest.allocate(connection.queuePair(), 1)
                                        .add(memory, 0, 64 * 1024));
                    }
                    connection.attach(memory);
                });
        for (int attempt = 0; ; attempt++) {
            try {
                return new RdmaClient(arena).connect(address, options, Ranks.LIMIT);
            } catch (RejectedException e) {
                // Nobody listens yet, which has no private data.
                if (attempt == 100 || Hello.refusalOf(e.privateData()).isPresent()) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }

    private static void assertRefused(VerbsArena arena, InetSocketAddress address, byte[] hello, Hello.Refusal reason) {
        RejectedException e = assertThrows(RejectedException.class, () -> intrude(arena, address, hello));
        assertEquals(Optional.of(reason), Hello.refusalOf(e.privateData()));
    }

    @Test
    void shouldRefuseWrongHellosAndJoinTheRightRank() throws Exception {
        List<InetSocketAddress> addresses = Ranks.addresses(3);
        Future<Group> zero = joining(0, addresses, Ranks.OPTIONS);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            InetSocketAddress address = addresses.getFirst();
            byte[] garbage = new byte[24];
            Arrays.fill(garbage, (byte) 0xA5);
            assertRefused(arena, address, garbage, Hello.Refusal.UNKNOWN);
            assertRefused(arena, address, new byte[0], Hello.Refusal.UNKNOWN);
            assertRefused(arena, address, new Hello(6, 1, 3).bytes(), Hello.Refusal.OTHER_GROUP);
            assertRefused(arena, address, new Hello(5, 1, 4).bytes(), Hello.Refusal.OTHER_SIZE);
            for (int rank : new int[] {-1, 0, 3, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                assertRefused(arena, address, new Hello(5, rank, 3).bytes(), Hello.Refusal.WRONG_RANK);
            }
            Future<Group> one = joining(1, addresses, Ranks.OPTIONS);
            // The right rank 1 is connected once a second one is told so.
            long end = System.nanoTime() + Ranks.LIMIT.toNanos();
            Optional<Hello.Refusal> refusal = Optional.empty();
            while (refusal.isEmpty() && System.nanoTime() < end) {
                try {
                    Thread.sleep(200);
                    intrude(arena, address, new Hello(5, 1, 3).bytes()).close();
                } catch (RejectedException e) {
                    refusal = Hello.refusalOf(e.privateData());
                }
            }
            assertEquals(Optional.of(Hello.Refusal.DUPLICATE), refusal);
            Future<Group> two = joining(2, addresses, Ranks.OPTIONS);
            try (Group a = zero.get(30, TimeUnit.SECONDS);
                    Group b = one.get(30, TimeUnit.SECONDS);
                    Group c = two.get(30, TimeUnit.SECONDS)) {
                CompletableFuture<Void> done = CompletableFuture.allOf(barrier(a), barrier(b), barrier(c));
                done.get(30, TimeUnit.SECONDS);
                assertTrue(done.isDone());
            }
        }
    }

    /** The common pool may have a single thread. */
    private static CompletableFuture<Void> inThread(Runnable body) {
        return CompletableFuture.runAsync(
                body, task -> Thread.ofPlatform().daemon().start(task));
    }

    private static CompletableFuture<Void> barrier(Group group) {
        return inThread(() -> {
            try {
                group.barrier();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    /** What a hostile rank sends. */
    enum Hostile {
        SHORT(new int[] {0}, 10),
        EMPTY(new int[] {}, 0),
        UNKNOWN_PURPOSE(new int[] {99}, RankMessage.HEADER),
        NEGATIVE_PURPOSE(new int[] {-1}, RankMessage.HEADER),
        WRONG_LENGTH(new int[] {0, 3, 0, 1000, 1, 0, 1}, RankMessage.HEADER + 4),
        CREDIT_FOR_NOTHING(new int[] {2, 0, 0, 0, 1, 0, 0, 0, 5}, RankMessage.HEADER),
        NEGATIVE_CREDIT(new int[] {2, 0, 0, 0, 1, 0, 0, 0, -5, -1}, RankMessage.HEADER),
        FUTURE_CALL(new int[] {1, 0, 0, 0, 1000}, RankMessage.HEADER),
        PAST_CALL(new int[] {1, 0, 0, 0, -1, -1}, RankMessage.HEADER),
        UNKNOWN_CALL(new int[] {1, -1, 0, 0, 1}, RankMessage.HEADER),
        WRONG_NUMBER(new int[] {0, 3, 0, 4, 1, 0, 1, 0, 0, 0, 7}, RankMessage.HEADER + 4),
        TOO_FEW_ELEMENTS(new int[] {0, 3, 0, 0, 1, 0, 1}, RankMessage.HEADER),
        LEAVE_WITHOUT_ITS_PART(new int[] {5, 0, 0, 0, 1}, RankMessage.HEADER),
        ABORT_OF_A_LATER_CALL(new int[] {6, 0, 0, 0, 9}, RankMessage.HEADER),
        ABORT_BLAMING_NOBODY(new int[] {6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 77, 0, 77}, RankMessage.HEADER);

        private final int[] words;
        private final int bytes;

        Hostile(int[] words, int bytes) {
            this.words = words;
            this.bytes = bytes;
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndTheGroupForAHostileRank(Hostile hostile) throws Exception {
        List<InetSocketAddress> addresses = Ranks.addresses(2);
        Future<Group> joined = joining(0, addresses, IMPATIENT);
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaConnection connection = intrude(arena, addresses.getFirst(), new Hello(5, 1, 2).bytes());
                Group group = joined.get(30, TimeUnit.SECONDS)) {
            MemoryRegion memory = (MemoryRegion) connection.attachment();
            for (int i = 0; i < hostile.words.length; i++) {
                memory.memory().setAtIndex(RankMessage.INT, i, hostile.words[i]);
            }
            connection
                    .queuePair()
                    .postSend(SendWorkRequest.allocate(connection.queuePair(), 1)
                            .send()
                            .add(memory, 0, hostile.bytes)
                            .signaled(true));
            Vector vector = group.allocate(ElementType.FLOAT, 1);
            CollectiveException e =
                    assertThrows(CollectiveException.class, () -> group.allReduce(vector, Reduction.SUM));
            assertEquals(1, e.rank(), e::getMessage);
        }
    }

    /** A rank that finds the reason in its next call, and ends, is not to blame: it has finished the call of the others. */
    @Test
    void shouldFinishACallBesideARankThatFailedInTheNext() throws Exception {
        List<InetSocketAddress> addresses = Ranks.addresses(2);
        Future<Group> joined = joining(0, addresses, IMPATIENT);
        try (VerbsArena arena = VerbsArena.ofShared()) {
            RdmaConnection connection = intrude(arena, addresses.getFirst(), new Hello(5, 1, 2).bytes());
            Group group = joined.get(30, TimeUnit.SECONDS);
            MemorySegment memory = ((MemoryRegion) connection.attachment()).memory();
            memory.set(RankMessage.INT, RankMessage.PURPOSE, RankMessage.Purpose.SYNC.ordinal());
            memory.set(RankMessage.LONG, RankMessage.SEQUENCE, 1);
            MemorySegment next = memory.asSlice(RankMessage.HEADER);
            next.set(RankMessage.INT, RankMessage.PURPOSE, RankMessage.Purpose.ABORT.ordinal());
            next.set(RankMessage.LONG, RankMessage.SEQUENCE, 2);
            next.set(RankMessage.LONG, RankMessage.NUMBER, 1);
            next.set(RankMessage.INT, RankMessage.REASON, Reason.INTERRUPTED.ordinal());
            WorkCompletions completions = new WorkCompletions(connection.sendQueue(), 1);
            for (int i = 0; i < 2; i++) {
                connection
                        .queuePair()
                        .postSend(SendWorkRequest.allocate(connection.queuePair(), 1)
                                .send()
                                .add(
                                        (MemoryRegion) connection.attachment(),
                                        (long) i * RankMessage.HEADER,
                                        RankMessage.HEADER)
                                .signaled(true));
                Completions.await(connection.sendQueue(), completions, 1, Ranks.LIMIT);
            }
            connection.close();
            Bound.usual()
                    .await("still connected", () -> !group.right().connection().isConnected());
            group.barrier();
            CollectiveException e = assertThrows(CollectiveException.class, group::barrier);
            assertEquals(1, e.rank(), e::getMessage);
            assertTrue(e.getMessage().contains("was interrupted in a call, says rank 1"), e::getMessage);
            group.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void shouldTellOfARankThatIsGone(int dead) throws Exception {
        List<InetSocketAddress> addresses = Ranks.addresses(3);
        List<Future<Group>> joining = List.of(
                joining(0, addresses, Ranks.OPTIONS),
                joining(1, addresses, Ranks.OPTIONS),
                joining(2, addresses, Ranks.OPTIONS));
        for (Future<Group> each : joining) {
            assertEquals(3, each.get(30, TimeUnit.SECONDS).size());
        }
        Group gone = joining.get(dead).get();
        CompletableFuture<?>[] others = new CompletableFuture<?>[2];
        for (int i = 0; i < 2; i++) {
            Group group = joining.get((dead + 1 + i) % 3).get();
            others[i] = inThread(() -> {
                CollectiveException e = assertThrows(CollectiveException.class, () -> {
                    while (true) {
                        group.barrier();
                    }
                });
                assertEquals(dead, e.rank(), e::getMessage);
                group.close();
            });
        }
        for (int i = 0; i < 20; i++) {
            gone.barrier();
        }
        gone.abandon();
        CompletableFuture.allOf(others).get(30, TimeUnit.SECONDS);
        assertTrue(others[0].isDone());
    }
}
