package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.Insides;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.Ownership;
import org.rdmapanama.ParentDomainOptions;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueue;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.mlx5.Mlx5Device;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.standin.RecordingProvider;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.FillPattern;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** The dynamically connected transport, through libmlx5 on a card in memory. */
@Tag("card")
class DcCardTest {
    private static final int BYTES = 1 << 16;
    private static final long KEY = 0xfedc_ba98_7654_3210L;
    private static final int WRITES = 1000;
    private static final int MAX_ROUNDS = 50;
    private static final int TOO_MANY = 1 << 20;
    private static final int EARLIER = 8;
    private static final int MORE_THAN_FIT = 20;
    private static final int TURNS = 5;
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private VerbsArena arena;
    private Context context;
    private Mlx5Device mlx5;
    private ProtectionDomain domain;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = Context.open(arena, "mlx5_0");
        mlx5 = Mlx5Device.of(context);
        domain = context.allocateProtectionDomain();
    }

    @AfterEach
    void close() {
        Bound bound = Bound.usual();
        arena.close();
        bound.check("closing took too long");
    }

    private CompletionQueue queue() {
        return context.createCompletionQueue(new CompletionQueueOptions(255));
    }

    private QueuePairOptions targetOptions() {
        return new QueuePairOptions(QueuePairType.DRIVER, queue())
                .sharedReceiveQueue(domain.createSharedReceiveQueue(
                        new SharedReceiveQueueOptions().maxWorkRequests(64).maxSegments(2)));
    }

    private QueuePair newTarget(long key) {
        return mlx5.createDcTarget(domain, targetOptions(), key);
    }

    private Side target(long key) {
        return activated(newTarget(key));
    }

    private QueuePairOptions initiatorOptions() {
        return new QueuePairOptions(QueuePairType.DRIVER, queue())
                .maxSendWorkRequests(32)
                .maxSegments(2, 1)
                .maxInlineData(64)
                .sendOperations(
                        SendOperation.SEND,
                        SendOperation.SEND_WITH_IMM,
                        SendOperation.RDMA_WRITE,
                        SendOperation.RDMA_WRITE_WITH_IMM,
                        SendOperation.RDMA_READ,
                        SendOperation.ATOMIC_FETCH_AND_ADD,
                        SendOperation.ATOMIC_CMP_AND_SWP);
    }

    private Side initiator() {
        return activated(mlx5.createDcInitiator(domain, initiatorOptions()));
    }

    private Side activated(QueuePair queuePair) {
        queuePair.activate();
        return side(queuePair);
    }

    private Side side(QueuePair queuePair) {
        MemoryRegion region = domain.register(
                arena.allocate(BYTES, 64),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_ATOMIC);
        return new Side(arena, domain, null, queuePair, region, Bound.USUAL);
    }

    private AddressHandle handleFor(Side from, Side to) {
        return domain.createAddressHandle(from.queuePair.pathTo(to.queuePair.localEndpoint()));
    }

    private void postReceive(Side target, long id, long offset, long length) {
        target.queuePair
                .sharedReceiveQueue()
                .postReceive(ReceiveWorkRequest.allocate(arena, 1).id(id).add(target.region, offset, length));
    }

    @Test
    void shouldWriteToATarget() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        FillPattern.fill(initiator.memory, 1);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(5)
                    .rdmaWrite(target.region.address() + 100, target.region.rkey())
                    .toTarget(handle, target.queuePair.number(), KEY)
                    .add(initiator.region, 0, 40_000)
                    .add(initiator.region, 40_000, 10_000);
            batch.complete();
        }
        initiator.await().is(CompletionOpcode.RDMA_WRITE, 5);
        FillPattern.assertFilled(target.memory.asSlice(100, 50_000), 1);
        assertEquals(List.of(), target.poll());
    }

    @Test
    void shouldReadAndCountInTheMemoryOfATarget() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        int number = target.queuePair.number();
        FillPattern.fill(target.memory, 2);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(1)
                    .rdmaRead(target.region.address(), target.region.rkey())
                    .add(initiator.region, 0, 60_000)
                    .toTarget(handle, number, KEY);
            batch.complete();
        }
        initiator.await().is(CompletionOpcode.RDMA_READ, 1);
        FillPattern.assertFilled(initiator.memory.asSlice(0, 60_000), 2);

        target.memory.set(ValueLayout.JAVA_LONG, 8, 40);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(2)
                    .fetchAndAdd(target.region.address() + 8, target.region.rkey(), 2)
                    .toTarget(handle, number, KEY)
                    .add(initiator.region, 0, 8);
            batch.id(3)
                    .compareAndSwap(target.region.address() + 8, target.region.rkey(), 42, 7)
                    .toTarget(handle, number, KEY)
                    .add(initiator.region, 8, 8);
            batch.complete();
        }
        List<Completion> both = initiator.await(2);
        both.get(0).is(CompletionOpcode.FETCH_ADD, 2);
        both.get(1).is(CompletionOpcode.COMP_SWAP, 3);
        assertEquals(40, initiator.memory.get(ValueLayout.JAVA_LONG, 0));
        assertEquals(42, initiator.memory.get(ValueLayout.JAVA_LONG, 8));
        assertEquals(7, target.memory.get(ValueLayout.JAVA_LONG, 8));
    }

    @Test
    void shouldSendToATarget() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        int number = target.queuePair.number();
        postReceive(target, 1, 0, 100);
        postReceive(target, 2, 100, 100);
        postReceive(target, 3, 200, 100);
        FillPattern.fill(initiator.memory, 3);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(10).send().toTarget(handle, number, KEY).add(initiator.region, 0, 100);
            batch.id(11)
                    .sendWithImmediate(0x1234_5678)
                    .toTarget(handle, number, KEY)
                    .inlineData(initiator.memory.asSlice(100, 64));
            batch.id(12)
                    .rdmaWriteWithImmediate(target.region.address() + 1000, target.region.rkey(), 99)
                    .toTarget(handle, number, KEY)
                    .add(initiator.region, 0, 8);
            batch.complete();
        }
        List<Completion> sent = initiator.await(3);
        sent.get(0).is(CompletionOpcode.SEND, 10);
        sent.get(1).is(CompletionOpcode.SEND, 11);
        sent.get(2).is(CompletionOpcode.RDMA_WRITE, 12);
        List<Completion> received = target.await(3);
        received.get(0).is(CompletionOpcode.RECV, 1);
        assertEquals(100, received.get(0).byteLength());
        assertEquals(number, received.get(0).queuePair());
        received.get(1).is(CompletionOpcode.RECV, 2);
        assertEquals(0x1234_5678, received.get(1).immediate());
        received.get(2).is(CompletionOpcode.RECV_RDMA_WITH_IMM, 3);
        assertEquals(99, received.get(2).immediate());
        FillPattern.assertFilled(target.memory.asSlice(0, 164), 3);
    }

    /** The ring of sends goes round many times, unsignaled sends among them, and so do those of receives. */
    @Test
    void shouldTurnFromTargetToTarget() {
        Side initiator = initiator();
        List<Side> targets = List.of(target(1), target(2), target(3));
        List<AddressHandle> handles =
                targets.stream().map(target -> handleFor(initiator, target)).toList();
        for (int round = 0; round < 100; round++) {
            List<List<Long>> expected = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
            try (WorkRequestBuilder batch = initiator.batch()) {
                for (int i = 0; i < 6; i++) {
                    long number = round * 6L + i;
                    int to = (round * 5 + i * i) % targets.size();
                    Side target = targets.get(to);
                    initiator.memory.set(ValueLayout.JAVA_LONG, 8L * i, number);
                    postReceive(target, number, 8L * i, 8);
                    batch.id(number)
                            .signaled(i % 3 == 2)
                            .send()
                            .toTarget(handles.get(to), target.queuePair.number(), to + 1)
                            .add(initiator.region, 8L * i, 8);
                    expected.get(to).add(number);
                }
                batch.complete();
            }
            List<Completion> sent = initiator.await(2);
            sent.get(0).is(CompletionOpcode.SEND, round * 6 + 2);
            sent.get(1).is(CompletionOpcode.SEND, round * 6 + 5);
            for (int to = 0; to < targets.size(); to++) {
                Side target = targets.get(to);
                List<Completion> received = target.await(expected.get(to).size());
                assertEquals(
                        expected.get(to), received.stream().map(Completion::id).toList());
                for (long number : expected.get(to)) {
                    assertEquals(number, target.memory.get(ValueLayout.JAVA_LONG, 8L * (number % 6)));
                }
            }
        }
    }

    @Test
    void shouldServeSeveralInitiators() {
        Side target = target(KEY);
        List<Side> initiators = List.of(initiator(), initiator(), initiator());
        for (int i = 0; i < initiators.size(); i++) {
            Side initiator = initiators.get(i);
            initiator.memory.set(ValueLayout.JAVA_LONG, 0, i + 1);
            try (WorkRequestBuilder batch = initiator.batch()) {
                batch.id(i)
                        .rdmaWrite(target.region.address() + 8L * i, target.region.rkey())
                        .toTarget(handleFor(initiator, target), target.queuePair.number(), KEY)
                        .add(initiator.region, 0, 8);
                batch.complete();
            }
        }
        for (int i = 0; i < initiators.size(); i++) {
            initiators.get(i).await().is(CompletionOpcode.RDMA_WRITE, i);
            assertEquals(i + 1, target.memory.get(ValueLayout.JAVA_LONG, 8L * i));
        }
    }

    private void write(Side initiator, Side target, int number, long key, int remoteKey) {
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(1)
                    .rdmaWrite(target.region.address(), remoteKey)
                    .toTarget(handleFor(initiator, target), number, key)
                    .add(initiator.region, 0, 8);
            batch.id(2)
                    .rdmaWrite(target.region.address(), target.region.rkey())
                    .toTarget(handleFor(initiator, target), target.queuePair.number(), KEY)
                    .add(initiator.region, 0, 8);
            batch.complete();
        }
    }

    private static void assertFails(Side initiator, CompletionStatus status) {
        List<Completion> both = initiator.await(2);
        assertEquals(1, both.get(0).id());
        assertEquals(status, both.get(0).status(), both.get(0)::text);
        assertEquals(2, both.get(1).id());
        assertEquals(CompletionStatus.WR_FLUSH_ERR, both.get(1).status(), both.get(1)::text);
        assertEquals(QueuePairState.ERR, initiator.queuePair.state());
        assertEquals(status, initiator.queuePair.failure().orElseThrow().status());
    }

    /** The initiator is in state ERR then, works after a reset, and the target never notices. */
    @Test
    void shouldFailForWrongKeysAndNumbers() {
        Side target = target(KEY);
        Side initiator = initiator();
        int number = target.queuePair.number();
        int remoteKey = target.region.rkey();
        write(initiator, target, number, KEY + 1, remoteKey);
        assertFails(initiator, CompletionStatus.REM_ACCESS_ERR);
        restart(initiator);
        write(initiator, target, 0xabcdef, KEY, remoteKey);
        assertFails(initiator, CompletionStatus.RETRY_EXC_ERR);
        restart(initiator);
        write(initiator, target, number, KEY, remoteKey ^ 0xff00);
        assertFails(initiator, CompletionStatus.REM_ACCESS_ERR);
        restart(initiator);
        write(initiator, target, number, KEY, remoteKey);
        List<Completion> both = initiator.await(2);
        both.get(0).is(CompletionOpcode.RDMA_WRITE, 1);
        both.get(1).is(CompletionOpcode.RDMA_WRITE, 2);
        assertEquals(QueuePairState.RTR, target.stateInDevice());
    }

    private static void restart(Side initiator) {
        initiator.queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        initiator.queuePair.activate();
    }

    /** What was sent before to the same target is complete first. */
    @Test
    void shouldCompleteWhatWasSentBeforeAWrongKey() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        int number = target.queuePair.number();
        FillPattern.fill(initiator.memory, 4);
        try (WorkRequestBuilder batch = initiator.batch()) {
            for (int i = 0; i < EARLIER; i++) {
                batch.id(i)
                        .rdmaWrite(target.region.address(), target.region.rkey())
                        .toTarget(handle, number, KEY)
                        .add(initiator.region, 0, BYTES);
            }
            batch.id(EARLIER)
                    .rdmaWrite(target.region.address(), target.region.rkey())
                    .toTarget(handle, number, KEY + 1)
                    .add(initiator.region, 0, 8);
            batch.id(EARLIER + 1)
                    .rdmaWrite(target.region.address(), target.region.rkey())
                    .toTarget(handle, number, KEY)
                    .add(initiator.region, 0, 8);
            batch.complete();
        }
        List<Completion> all = initiator.await(EARLIER + 2);
        for (int i = 0; i < EARLIER; i++) {
            all.get(i).is(CompletionOpcode.RDMA_WRITE, i);
        }
        assertEquals(CompletionStatus.REM_ACCESS_ERR, all.get(EARLIER).status());
        assertEquals(EARLIER, all.get(EARLIER).id());
        assertEquals(CompletionStatus.WR_FLUSH_ERR, all.get(EARLIER + 1).status());
        FillPattern.assertFilled(target.memory, 4);
    }

    /** Its queue pair fails with the queue, and sends nothing any more. */
    @Test
    void shouldStopAnInitiatorWhoseCompletionQueueOverruns() throws InterruptedException {
        Side target = target(KEY);
        CompletionQueue small = context.createCompletionQueue(new CompletionQueueOptions(7));
        Side initiator = activated(mlx5.createDcInitiator(
                domain,
                new QueuePairOptions(QueuePairType.DRIVER, small)
                        .maxSendWorkRequests(32)
                        .sendOperations(SendOperation.RDMA_WRITE)));
        AddressHandle handle = handleFor(initiator, target);
        for (int i = 0; i < MORE_THAN_FIT; i++) {
            writeLong(initiator, handle, target, 0, i);
        }
        AsyncEvent event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.CQ_ERR, event.type());
        event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.QP_FATAL, event.type());
        assertEquals(initiator.queuePair, event.source());
        initiator.awaitState(QueuePairState.ERR);
        writeLong(initiator, handle, target, 8, 1);
        // The card takes turns, so that it has looked at the first one when the second one is complete.
        Side second = initiator();
        for (int i = 0; i < TURNS; i++) {
            writeLong(second, handle, target, 16, 1);
            second.await().is(CompletionOpcode.RDMA_WRITE, 1);
        }
        assertEquals(0, target.memory.get(ValueLayout.JAVA_LONG, 8));
        assertEquals(1, target.memory.get(ValueLayout.JAVA_LONG, 16));
    }

    /** It cannot complete what it receives, and no initiator finds it any more. */
    @Test
    void shouldNotReachATargetWhoseCompletionQueueOverruns() throws InterruptedException {
        CompletionQueue small = context.createCompletionQueue(new CompletionQueueOptions(7));
        SharedReceiveQueue receives =
                domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(64));
        Side target = activated(mlx5.createDcTarget(
                domain, new QueuePairOptions(QueuePairType.DRIVER, small).sharedReceiveQueue(receives), KEY));
        Side initiator = initiator();
        for (int i = 0; i < MORE_THAN_FIT; i++) {
            postReceive(target, i, 0, 8);
        }
        try (WorkRequestBuilder batch = initiator.batch()) {
            for (int i = 0; i < MORE_THAN_FIT; i++) {
                batch.send()
                        .toTarget(handleFor(initiator, target), target.queuePair.number(), KEY)
                        .add(initiator.region, 0, 8);
            }
            batch.complete();
        }
        AsyncEvent event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.CQ_ERR, event.type());
        assertEquals(small, event.source());
        event = context.awaitAsyncEvent(LIMIT).orElseThrow();
        assertEquals(AsyncEventType.QP_FATAL, event.type());
        assertEquals(target.queuePair, event.source());
        Side second = initiator();
        writeLong(second, handleFor(second, target), target, 0, 1);
        assertEquals(CompletionStatus.RETRY_EXC_ERR, second.await().status());
    }

    /** Writes a number, which is the identifier of the request, too. */
    private static void writeLong(Side initiator, AddressHandle handle, Side target, long offset, long value) {
        initiator.memory.set(ValueLayout.JAVA_LONG, offset, value);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(value)
                    .rdmaWrite(target.region.address() + offset, target.region.rkey())
                    .toTarget(handle, target.queuePair.number(), KEY)
                    .add(initiator.region, offset, 8);
            batch.complete();
        }
    }

    /** soft0, which connects for the card, has fewer reads outstanding than this; the card is there for others afterwards. */
    @Test
    void shouldFailASendForWhichTheCardCannotConnect() {
        Side target = target(KEY);
        ExtendedQueuePair greedy = mlx5.createDcInitiator(domain, initiatorOptions());
        greedy.initialize();
        greedy.modify(new QueuePairAttributes().state(QueuePairState.RTR).pathMtu(Mtu.BYTES_1024));
        greedy.modify(new QueuePairAttributes()
                .state(QueuePairState.RTS)
                .timeout(14)
                .retryCount(6)
                .rnrRetry(7)
                .sendPsn(1)
                .maxReadAtomicAsInitiator(200));
        Side initiator = side(greedy);
        AddressHandle handle = handleFor(initiator, target);
        writeLong(initiator, handle, target, 0, 5);
        Completion failed = initiator.await();
        assertEquals(5, failed.id());
        assertEquals(CompletionStatus.LOC_QP_OP_ERR, failed.status(), failed::text);
        Side other = initiator();
        writeLong(other, handle, target, 0, 6);
        other.await().is(CompletionOpcode.RDMA_WRITE, 6);
        // Nothing that was made for the connection uses the queues still.
        greedy.close();
        initiator.queue.close();
        other.queuePair.close();
        target.queuePair.close();
        target.queue.close();
    }

    @Test
    void shouldFailForATargetThatIsClosed() {
        Side target = target(KEY);
        Side initiator = initiator();
        write(initiator, target, target.queuePair.number(), KEY, target.region.rkey());
        initiator.await(2);
        int number = target.queuePair.number();
        AddressHandle handle = handleFor(initiator, target);
        target.queuePair.close();
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(3)
                    .rdmaWrite(target.region.address(), target.region.rkey())
                    .toTarget(handle, number, KEY)
                    .add(initiator.region, 0, 8);
            batch.complete();
        }
        assertEquals(CompletionStatus.RETRY_EXC_ERR, initiator.await().status());
    }

    @Test
    void shouldFailForATargetWithoutReceives() {
        Side target = target(KEY);
        ExtendedQueuePair impatient = mlx5.createDcInitiator(domain, initiatorOptions());
        impatient.activate(new ConnectOptions().rnrRetry(1));
        Side initiator = side(impatient);
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.id(3)
                    .send()
                    .toTarget(handleFor(initiator, target), target.queuePair.number(), KEY)
                    .add(initiator.region, 0, 8);
            batch.complete();
        }
        assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, initiator.await().status());
    }

    @Test
    void shouldReachTheTargetOfAnotherContext() {
        Side initiator = initiator();
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context second = Context.open(own, "mlx5_0");
            ProtectionDomain ofSecond = second.allocateProtectionDomain();
            SharedReceiveQueue receives = ofSecond.createSharedReceiveQueue(new SharedReceiveQueueOptions());
            QueuePair queuePair = Mlx5Device.of(second)
                    .createDcTarget(
                            ofSecond,
                            new QueuePairOptions(
                                            QueuePairType.DRIVER,
                                            second.createCompletionQueue(new CompletionQueueOptions(15)))
                                    .sharedReceiveQueue(receives),
                            KEY);
            queuePair.activate();
            MemoryRegion region = ofSecond.register(own.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            Side target = new Side(own, ofSecond, null, queuePair, region, Bound.USUAL);
            receives.postReceive(ReceiveWorkRequest.allocate(own, 1).id(4).add(region, 0, 64));
            try (WorkRequestBuilder batch = initiator.batch()) {
                batch.id(3)
                        .send()
                        .toTarget(handleFor(initiator, target), queuePair.number(), KEY)
                        .add(initiator.region, 0, 8);
                batch.complete();
            }
            initiator.await().is(CompletionOpcode.SEND, 3);
            target.await().is(CompletionOpcode.RECV, 4);
        }
    }

    /** A register of its own for the doorbell, which comes with the thread domain, and which all in this share. */
    @Test
    void shouldSendInAThreadDomain() {
        Side target = target(KEY);
        ProtectionDomain parent =
                domain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()));
        Side initiator = activated(mlx5.createDcInitiator(parent, initiatorOptions()));
        Side beside = activated(mlx5.createDcInitiator(parent, initiatorOptions()));
        Side outside = initiator();
        for (int i = 0; i < 100; i++) {
            initiator.memory.set(ValueLayout.JAVA_LONG, 0, i);
            try (WorkRequestBuilder batch = initiator.batch()) {
                batch.id(i)
                        .rdmaWrite(target.region.address(), target.region.rkey())
                        .toTarget(handleFor(initiator, target), target.queuePair.number(), KEY)
                        .inlineData(initiator.memory.asSlice(0, 8));
                batch.complete();
            }
            initiator.await().is(CompletionOpcode.RDMA_WRITE, i);
            assertEquals(i, target.memory.get(ValueLayout.JAVA_LONG, 0));
        }
        List<Integer> registers = new ArrayList<>();
        for (Side each : List.of(initiator, beside, outside)) {
            writeLong(each, handleFor(each, target), target, 8, 1);
            each.await().is(CompletionOpcode.RDMA_WRITE, 1);
            // At once: another doorbell may take its place.
            registers.add(Cards.given(each.queuePair.number()).register());
        }
        assertFalse(registers.contains(-1), registers::toString);
        assertEquals(registers.get(0), registers.get(1), registers::toString);
        assertNotEquals(registers.get(0), registers.get(2), registers::toString);
    }

    /** Interpreted code may allocate: it takes some rounds until all of it is compiled. */
    @Test
    void shouldAllocateNothing() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        WorkCompletions completions = new WorkCompletions(arena, 1);
        long allocated = Long.MAX_VALUE;
        for (int round = 0; allocated >= WRITES && round < MAX_ROUNDS; round++) {
            Bound bound = Bound.usual();
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < WRITES; i++) {
                WorkRequestBuilder batch = ((ExtendedQueuePair) initiator.queuePair).startWorkRequests();
                batch.signaled(true)
                        .rdmaWrite(target.region.address(), target.region.rkey())
                        .toTarget(handle, target.queuePair.number(), KEY)
                        .add(initiator.region, 0, 8)
                        .complete();
                while (initiator.queue.poll(completions) == 0) {
                    bound.check("a write is not complete");
                }
                assertEquals(CompletionStatus.SUCCESS, completions.status(0));
            }
            allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        }
        long bytes = allocated;
        assertTrue(bytes < WRITES, () -> WRITES + " writes allocated " + bytes + " bytes");
    }

    @Test
    void shouldGiveATargetItsNumberWhenItIsActivated() {
        QueuePair target = newTarget(KEY);
        assertEquals(0, target.number());
        IllegalStateException tooSoon = assertThrows(IllegalStateException.class, target::localEndpoint);
        assertTrue(tooSoon.getMessage().contains("call activate first"), tooSoon::getMessage);
        target.activate();
        assertNotEquals(0, target.number());
        assertEquals(target.number(), target.localEndpoint().queuePairNumber());
        assertEquals(QueuePairState.RTR, target.state());
        assertTrue(target.toString().startsWith("DC target queue pair 0x"), target::toString);
        IllegalArgumentException again = assertThrows(IllegalArgumentException.class, target::activate);
        assertTrue(again.getMessage().contains("is in state RTR and cannot move to RTR"), again::getMessage);
        for (QueuePairState state : List.of(QueuePairState.RESET, QueuePairState.ERR)) {
            IllegalArgumentException back = assertThrows(
                    IllegalArgumentException.class, () -> target.modify(new QueuePairAttributes().state(state)));
            assertTrue(back.getMessage().endsWith("close it, and create another one"), back::getMessage);
        }
        IllegalStateException late =
                assertThrows(IllegalStateException.class, () -> target.activate(new ConnectOptions()));
        assertTrue(late.getMessage().contains("in state RESET only"), late::getMessage);
    }

    /** The driver in the kernel refuses every other question, and all of them before RTR; the card does as well. */
    @Test
    void shouldQueryOfATargetWhatTheDriverTells() {
        QueuePair target = newTarget(KEY);
        for (Executable early : List.<Executable>of(
                target::query, () -> target.query(QueuePairAttribute.STATE), target::queryInitial)) {
            IllegalStateException tooSoon = assertThrows(IllegalStateException.class, early);
            assertTrue(
                    tooSoon.getMessage()
                            .endsWith("is in state RESET, and a target can be queried in RTR only; call"
                                    + " activate first"),
                    tooSoon::getMessage);
        }
        target.activate(new ConnectOptions().minRnrTimer(9).pathMtu(Mtu.BYTES_512));
        QueuePairAttributes told = target.query();
        assertEquals(
                EnumSet.of(
                        QueuePairAttribute.STATE,
                        QueuePairAttribute.ACCESS_FLAGS,
                        QueuePairAttribute.PKEY_INDEX,
                        QueuePairAttribute.PORT,
                        QueuePairAttribute.PATH_MTU,
                        QueuePairAttribute.MIN_RNR_TIMER),
                told.given());
        assertEquals(QueuePairState.RTR, told.state());
        assertEquals(
                Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC), told.accessFlags());
        assertEquals(1, told.port());
        assertEquals(Mtu.BYTES_512, told.pathMtu());
        assertEquals(9, told.minRnrTimer());
        assertEquals(9, target.query(QueuePairAttribute.MIN_RNR_TIMER).minRnrTimer());
        assertEquals(
                new QueuePairInitialAttributes(QueuePairType.DRIVER, new QueuePairCapabilities(0, 0, 0, 0, 0), false),
                target.queryInitial());
        IllegalArgumentException others = assertThrows(
                IllegalArgumentException.class,
                () -> target.query(QueuePairAttribute.STATE, QueuePairAttribute.AV, QueuePairAttribute.CAP));
        assertTrue(others.getMessage().contains("can be queried: [AV, CAP] of DC target"), others::getMessage);
    }

    /** An initiator answers for what it was modified with. */
    @Test
    void shouldQueryAllOfAnInitiator() {
        ExtendedQueuePair initiator = mlx5.createDcInitiator(domain, initiatorOptions());
        initiator.activate(new ConnectOptions().timeout(13).rnrRetry(3).maxReadAtomic(4));
        QueuePairAttributes told = initiator.query();
        assertEquals(QueuePairState.RTS, told.state());
        assertEquals(13, told.timeout());
        assertEquals(3, told.rnrRetry());
        assertEquals(4, told.maxReadAtomicAsInitiator());
        assertTrue(initiator.queryInitial().capabilities().maxSendWorkRequests() >= 32);
    }

    /** The kernel takes no attribute without the state. */
    @Test
    void shouldNameTheStateInEachTransition() {
        Side initiator = initiator();
        QueuePairAttributes timer = new QueuePairAttributes().minRnrTimer(5);
        IllegalArgumentException without =
                assertThrows(IllegalArgumentException.class, () -> initiator.queuePair.modify(timer));
        assertTrue(without.getMessage().endsWith("also needs [STATE] to move from RTS to RTS"), without::getMessage);
        initiator.queuePair.modify(timer.state(QueuePairState.RTS));
        assertEquals(QueuePairState.RTS, initiator.stateInDevice());
    }

    /** A target without a number completes nothing yet, so that the failures of a queue are those of another one. */
    @Test
    void shouldTellFailuresBesideTargetsWithoutNumber() {
        Side target = target(KEY);
        ExtendedCompletionQueue queue = context.createCompletionQueue(new CompletionQueueOptions(63).fields());
        SharedReceiveQueue receives = domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
        QueuePairOptions options = new QueuePairOptions(QueuePairType.DRIVER, queue).sharedReceiveQueue(receives);
        QueuePair first = mlx5.createDcTarget(domain, options, 1);
        QueuePair second = mlx5.createDcTarget(domain, options, 2);
        Side initiator = activated(mlx5.createDcInitiator(
                domain, new QueuePairOptions(QueuePairType.DRIVER, queue).sendOperations(SendOperation.RDMA_WRITE)));
        write(initiator, target, target.queuePair.number(), KEY + 1, target.region.rkey());
        PollCursor cursor = initiator.awaitBatch();
        assertEquals(CompletionStatus.REM_ACCESS_ERR, cursor.status());
        cursor.close();
        assertEquals(
                CompletionStatus.REM_ACCESS_ERR,
                initiator.queuePair.failure().orElseThrow().status());
        first.activate();
        second.activate();
        assertNotEquals(first.number(), second.number());
        first.close();
        assertTrue(second.isOpen());
    }

    /** It has no work of its own, and no state in which that would be flushed. */
    @Test
    void shouldNotDrainATarget() {
        RecordingProvider provider = RecordingProvider.of(LabDevices.first());
        long address;
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Context second = Insides.open(own, LabDevices.first(), () -> provider);
            ProtectionDomain ofSecond = second.allocateProtectionDomain();
            QueuePair target = Mlx5Device.of(second)
                    .createDcTarget(
                            ofSecond,
                            new QueuePairOptions(QueuePairType.DRIVER, second.createCompletionQueue(15))
                                    .sharedReceiveQueue(
                                            ofSecond.createSharedReceiveQueue(new SharedReceiveQueueOptions())),
                            KEY);
            target.activate();
            address = target.nativeAddress();
            assertEquals(
                    2,
                    provider.calls().stream()
                            .filter(new RecordingProvider.Call("modify_qp", address)::equals)
                            .count());
        }
        List<RecordingProvider.Call> calls = provider.calls();
        assertEquals(
                2,
                calls.stream()
                        .filter(new RecordingProvider.Call("modify_qp", address)::equals)
                        .count());
        assertFalse(provider.verbs().contains("poll_cq"), () -> calls.toString());
        assertTrue(calls.contains(new RecordingProvider.Call("destroy_qp", address)), () -> calls.toString());
    }

    /** What another part of the process has, which this wraps once more. */
    private record Other(VerbsArena arena, ProtectionDomain domain, CompletionQueue queue) {
        static Other of(VerbsArena arena, Side side) {
            Context same = Context.ofNativeAddress(arena, side.context.nativeAddress(), Ownership.BORROWED);
            return new Other(
                    arena,
                    ProtectionDomain.ofNativeAddress(same, side.domain.nativeAddress(), Ownership.BORROWED),
                    CompletionQueue.ofNativeAddress(same, side.queue.nativeAddress(), Ownership.BORROWED));
        }

        Mlx5Device device() {
            return Mlx5Device.of(domain.context());
        }
    }

    @Test
    void shouldSendThroughAnInitiatorOfOtherCode() {
        Side target = target(KEY);
        Side made = initiator();
        long address = made.queuePair.nativeAddress();
        Set<SendOperation> operations = Set.of(SendOperation.RDMA_WRITE);
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Other other = Other.of(own, made);
            IllegalArgumentException plain = assertThrows(
                    IllegalArgumentException.class,
                    () -> ExtendedQueuePair.ofNativeAddress(
                            other.domain, other.queue, other.queue, operations, address, Ownership.BORROWED));
            assertTrue(plain.getMessage().contains("Mlx5Device.initiatorOfNativeAddress"), plain::getMessage);
            assertThrows(
                    IllegalArgumentException.class,
                    () -> QueuePair.ofNativeAddress(
                            other.domain, other.queue, other.queue, address, Ownership.BORROWED));
            IllegalArgumentException noTarget = assertThrows(
                    IllegalArgumentException.class,
                    () -> other.device()
                            .targetOfNativeAddress(
                                    other.domain, other.queue, other.queue, address, Ownership.BORROWED));
            assertTrue(noTarget.getMessage().contains("no shared receive queue"), noTarget::getMessage);
            ExtendedQueuePair wrapped = other.device()
                    .initiatorOfNativeAddress(
                            other.domain, other.queue, other.queue, operations, address, Ownership.BORROWED);
            assertEquals(made.queuePair.number(), wrapped.number());
            MemoryRegion region = other.domain.register(own.allocate(64, 64), AccessFlag.LOCAL_WRITE);
            Side initiator = new Side(own, other.domain, null, wrapped, region, Bound.USUAL);
            AddressHandle handle = other.domain.createAddressHandle(wrapped.pathTo(target.queuePair.localEndpoint()));
            try (WorkRequestBuilder batch = initiator.batch()) {
                batch.rdmaWrite(target.region.address(), target.region.rkey());
                assertThrows(IllegalArgumentException.class, () -> batch.to(handle, 1, 1));
            }
            writeLong(initiator, handle, target, 8, 77);
            initiator.await().is(CompletionOpcode.RDMA_WRITE, 77);
            assertEquals(77, target.memory.get(ValueLayout.JAVA_LONG, 8));
        }
    }

    @Test
    void shouldWrapATargetOfOtherCode() {
        Side made = target(KEY);
        Side unlike = side(domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue())));
        long address = made.queuePair.nativeAddress();
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Other other = Other.of(own, made);
            IllegalArgumentException noReceives = assertThrows(
                    IllegalArgumentException.class,
                    () -> other.device()
                            .targetOfNativeAddress(
                                    other.domain, other.queue, other.queue, address, Ownership.BORROWED));
            assertTrue(noReceives.getMessage().contains("create one first"), noReceives::getMessage);
            SharedReceiveQueue receives = SharedReceiveQueue.ofNativeAddress(
                    other.domain, made.queuePair.sharedReceiveQueue().nativeAddress(), Ownership.BORROWED);
            IllegalArgumentException noInitiator = assertThrows(
                    IllegalArgumentException.class,
                    () -> other.device()
                            .initiatorOfNativeAddress(
                                    other.domain,
                                    other.queue,
                                    other.queue,
                                    Set.of(SendOperation.SEND),
                                    address,
                                    Ownership.BORROWED));
            assertTrue(
                    noInitiator.getMessage().contains("must not have a shared receive queue"), noInitiator::getMessage);
            QueuePair wrapped = other.device()
                    .targetOfNativeAddress(other.domain, other.queue, other.queue, address, Ownership.BORROWED);
            assertEquals(made.queuePair.number(), wrapped.number());
            assertEquals(receives, wrapped.sharedReceiveQueue());
            assertTrue(wrapped.toString().startsWith("DC target queue pair"), wrapped::toString);
            assertEquals(QueuePairState.RTR, wrapped.query().state());
        }
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Other other = Other.of(own, unlike);
            IllegalArgumentException connected = assertThrows(
                    IllegalArgumentException.class,
                    () -> other.device()
                            .targetOfNativeAddress(
                                    other.domain,
                                    other.queue,
                                    other.queue,
                                    unlike.queuePair.nativeAddress(),
                                    Ownership.BORROWED));
            assertTrue(connected.getMessage().contains("it is of type RC"), connected::getMessage);
        }
    }

    @Test
    void shouldRefuseWhatATargetOrAnInitiatorCannotDo() {
        Side target = target(KEY);
        Side initiator = initiator();
        AddressHandle handle = handleFor(initiator, target);
        SendWorkRequest send = initiator.request(1, 0, 8).send();
        IllegalStateException plain = assertThrows(IllegalStateException.class, () -> initiator.post(send));
        assertTrue(plain.getMessage().contains("WorkRequestBuilder.toTarget"), plain::getMessage);
        IllegalStateException sending = assertThrows(IllegalStateException.class, () -> target.post(send));
        assertTrue(sending.getMessage().contains("has no send queue"), sending::getMessage);
        assertThrows(IllegalStateException.class, () -> initiator.postReceive(1, 0, 8));
        assertThrows(IllegalStateException.class, () -> target.postReceive(1, 0, 8));
        try (WorkRequestBuilder batch = initiator.batch()) {
            batch.send();
            IllegalArgumentException datagram =
                    assertThrows(IllegalArgumentException.class, () -> batch.to(handle, 1, 1));
            assertTrue(datagram.getMessage().contains("call toTarget"), datagram::getMessage);
            assertThrows(IllegalArgumentException.class, () -> batch.toTarget(handle, 1 << 24, KEY));
            batch.add(initiator.region, 0, 8);
            IllegalStateException nowhere = assertThrows(IllegalStateException.class, batch::complete);
            assertEquals("SEND needs a target; call toTarget(...)", nowhere.getMessage());
        }
    }

    @Test
    void shouldRefuseObjectsOfOtherContextsAndThreads() throws Exception {
        Side target = target(KEY);
        Side initiator = initiator();
        try (VerbsArena own = VerbsArena.ofConfined()) {
            ProtectionDomain other = Context.open(own, "mlx5_0").allocateProtectionDomain();
            assertThrows(IllegalArgumentException.class, () -> mlx5.createDcInitiator(other, initiatorOptions()));
            assertThrows(IllegalArgumentException.class, () -> mlx5.createDcTarget(other, targetOptions(), KEY));
        }
        // Of the same context, but not of the same protection domain.
        AddressHandle foreign = context.allocateProtectionDomain()
                .createAddressHandle(initiator.queuePair.pathTo(target.queuePair.localEndpoint()));
        AddressHandle closed = handleFor(initiator, target);
        closed.close();
        try (WorkRequestBuilder batch = initiator.batch()) {
            assertThrows(IllegalStateException.class, () -> batch.toTarget(closed, 1, KEY));
            batch.send();
            assertThrows(IllegalArgumentException.class, () -> batch.toTarget(foreign, 1, KEY));
            assertThrows(IllegalStateException.class, () -> batch.toTarget(closed, 1, KEY));
            assertThrows(NullPointerException.class, () -> batch.toTarget(null, 1, KEY));
        }
        QueuePairOptions options = initiatorOptions();
        Async.get(Async.start(() -> {
            assertThrows(WrongThreadException.class, () -> mlx5.createDcInitiator(domain, options));
            return assertThrows(WrongThreadException.class, mlx5::queryDevice);
        }));
    }

    /** What the options say of receives is not used, so other code can wrap it as what it is. */
    @Test
    void shouldGiveAnInitiatorNoSharedReceiveQueue() {
        QueuePair initiator = mlx5.createDcInitiator(domain, targetOptions().sendOperations(SendOperation.SEND));
        assertEquals(MemorySegment.NULL, ibv_qp.srq(Native.struct(initiator.nativeAddress(), ibv_qp.layout())));
        initiator.activate();
        assertEquals(QueuePairState.RTS, initiator.state());
    }

    @Test
    void shouldRefuseOptionsThatDoNotFit() {
        QueuePairOptions withoutReceives = new QueuePairOptions(QueuePairType.DRIVER, queue());
        assertThrows(IllegalArgumentException.class, () -> mlx5.createDcTarget(domain, withoutReceives, KEY));
        assertThrows(IllegalArgumentException.class, () -> mlx5.createDcInitiator(domain, withoutReceives));
        assertThrows(
                IllegalArgumentException.class,
                () -> mlx5.createDcTarget(domain, new QueuePairOptions(QueuePairType.RC, queue()), KEY));
        VerbsException tooMany = assertThrows(
                VerbsException.class,
                () -> mlx5.createDcInitiator(domain, initiatorOptions().maxSendWorkRequests(TOO_MANY)));
        assertEquals("mlx5dv_create_qp", tooMany.verb());
        CompletionQueue direct = context.createCompletionQueue(new CompletionQueueOptions(15).direct(true));
        IllegalArgumentException refused = assertThrows(
                IllegalArgumentException.class,
                () -> mlx5.createDcInitiator(
                        domain, new QueuePairOptions(QueuePairType.DRIVER, direct).sendOperations(SendOperation.SEND)));
        assertTrue(refused.getMessage().contains("must be one of [RC, UC, UD]"), refused::getMessage);
        QueuePairOptions connected = new QueuePairOptions(QueuePairType.RC, direct);
        assertThrows(IllegalArgumentException.class, () -> mlx5.createDcTarget(domain, connected, KEY));
        assertThrows(
                IllegalArgumentException.class,
                () -> mlx5.createDcInitiator(domain, connected.sendOperations(SendOperation.SEND)));
    }

    /** The driver would write the address over the request. */
    @Test
    void shouldNotTakeATargetForWhatStaysOnTheDevice() {
        ExtendedQueuePair initiator = mlx5.createDcInitiator(
                domain, initiatorOptions().sendOperations(SendOperation.RDMA_WRITE, SendOperation.LOCAL_INV));
        initiator.activate();
        Side target = target(KEY);
        AddressHandle handle = domain.createAddressHandle(initiator.pathTo(target.queuePair.localEndpoint()));
        try (WorkRequestBuilder batch = initiator.startWorkRequests()) {
            batch.localInvalidate(1);
            IllegalStateException refused = assertThrows(
                    IllegalStateException.class, () -> batch.toTarget(handle, target.queuePair.number(), KEY));
            assertTrue(refused.getMessage().contains("LOCAL_INV stays on this device"), refused::getMessage);
        }
    }
}
