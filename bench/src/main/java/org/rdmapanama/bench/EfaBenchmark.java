package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.cards.Cards;
import org.rdmapanama.efa.EfaDevice;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * Posts and polls on an EFA card in memory, over SRD, under the real driver, in a way that {@link DirectComparison} names. The
 * card is halted; {@link EfaHardware} completes the work requests. Chains are of sends, and batches of writes, which EFA takes
 * from a builder only.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EfaBenchmark {
    private static final int ROUNDS = 1000;
    private static final int CAPACITY = 16;
    private static final int DEPTH = 256;
    private static final int MAX_SEGMENTS = 2;
    private static final int MAX_INLINE = 32;
    private static final int QKEY = 0x1111_1111;

    private static final MethodHandle POST_SEND = posting("bench_post_send");
    private static final MethodHandle POST_RECEIVE = posting("bench_post_recv");
    private static final MethodHandle POLL_EMPTY =
            NullNic.loop(EfaHardware.LIBRARY, "bench_poll_empty", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle BUILD = NullNic.loop(
            EfaHardware.LIBRARY,
            "bench_wr",
            JAVA_LONG,
            JAVA_LONG,
            JAVA_LONG,
            JAVA_LONG,
            JAVA_INT,
            JAVA_LONG,
            JAVA_INT,
            JAVA_INT);

    /** Of {@code struct peer} of efaloops.c: two of eight bytes, four of four. */
    private static final long PEER_BYTES = 2 * 8 + 4 * 4;

    /** Number of work requests in a chain or a batch. */
    @Param("1")
    private int batch;

    /** Whether the loop is in C. */
    @Param("false")
    private boolean c;

    /** Whether work requests are posted with a builder. */
    @Param("false")
    private boolean extended;

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private VerbsArena arena;
    private CompletionQueue sendQueue;
    private CompletionQueue receiveQueue;
    private ExtendedQueuePair queuePair;
    private MemoryRegion region;
    private AddressHandle self;
    private WorkCompletions completions;
    private MemorySegment rawCompletions;
    private EfaHardware sending;
    private EfaHardware receiving;
    private SendWorkRequest sends;
    private ReceiveWorkRequest receives;
    private MemorySegment sendChain;
    private MemorySegment receiveChain;
    private MemorySegment peer;
    private long expected;

    /** For JMH. */
    public EfaBenchmark() {}

    /** For a test, which calls {@link #take} instead of {@link #open}. */
    EfaBenchmark(int batch, boolean c, boolean extended, Threads threads) {
        this.batch = batch;
        this.c = c;
        this.extended = extended;
        this.threads = threads;
    }

    private static MethodHandle posting(String name) {
        return NullNic.loop(
                EfaHardware.LIBRARY, name, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    }

    /** Puts the card into this JVM, opens it, and takes its place. */
    @Setup
    public void open() {
        Cards.insert("efa");
        take();
    }

    /** Opens the card that is in this JVM, halts it, and takes its place. */
    void take() {
        arena = threads == Threads.CONFINED ? VerbsArena.ofConfined() : VerbsArena.ofShared();
        Context context = Context.open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        region = domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        sendQueue = context.createCompletionQueue(DEPTH);
        receiveQueue = context.createCompletionQueue(DEPTH);
        queuePair = EfaDevice.of(context)
                .createExtendedQueuePair(
                        domain,
                        new QueuePairOptions(QueuePairType.DRIVER, sendQueue, receiveQueue)
                                .maxSendWorkRequests(DEPTH)
                                .maxReceiveWorkRequests(DEPTH)
                                .maxSegments(MAX_SEGMENTS, 1)
                                .maxInlineData(MAX_INLINE)
                                .sendOperations(SendOperation.SEND, SendOperation.RDMA_WRITE));
        queuePair.activate();
        self = domain.createAddressHandle(queuePair.pathTo(queuePair.localEndpoint()));
        int capacity = Math.max(batch, CAPACITY);
        completions = new WorkCompletions(arena, capacity);
        rawCompletions = arena.allocate(ibv_wc.sizeof() * capacity, Long.BYTES);
        makeRequests();
        Cards.pause(true);
        sending = EfaHardware.ofSends(arena, queuePair, sendQueue, extended);
        receiving = EfaHardware.ofReceives(arena, queuePair, receiveQueue, NullNic.BYTES);
    }

    private void makeRequests() {
        int number = queuePair.number();
        for (int i = batch - 1; i >= 0; i--) {
            sends = SendWorkRequest.allocate(arena, 1)
                    .id(i + 1)
                    .send()
                    .signaled(true)
                    .to(self, number, QKEY)
                    .add(region, 0, NullNic.BYTES)
                    .next(sends);
            receives = ReceiveWorkRequest.allocate(arena, 1)
                    .id(i + 1)
                    .add(region, 0, NullNic.BYTES)
                    .next(receives);
        }
        sendChain = Chain.ofDatagrams(
                arena, batch, region.address(), NullNic.BYTES, region.lkey(), self.nativeAddress(), number, QKEY);
        receiveChain = Chain.ofReceives(arena, batch, region.address(), NullNic.BYTES, region.lkey());
        peer = arena.allocate(PEER_BYTES, Long.BYTES);
        peer.set(JAVA_LONG, 0, self.nativeAddress());
        peer.set(JAVA_LONG, 8, region.address());
        peer.set(JAVA_INT, 16, number);
        peer.set(JAVA_INT, 20, QKEY);
        peer.set(JAVA_INT, 24, region.rkey());
        peer.set(JAVA_INT, 28, region.lkey());
        expected = ROUNDS * NullNic.sumOfIds(batch);
    }

    /** Whether Java writes the queues. */
    boolean isDirect() {
        return queuePair.isDirect();
    }

    /** Closes the device. */
    @TearDown
    public void close() {
        arena.close();
    }

    /** Posts a chain of sends of 64 bytes, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long postSend() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) POST_SEND.invokeExact(
                            queuePair.nativeAddress(),
                            sendQueue.nativeAddress(),
                            sending.struct.address(),
                            sendChain.address(),
                            rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        ExtendedQueuePair qp = queuePair;
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        EfaHardware hardware = sending;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postSend(sends);
            hardware.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }

    /** Builds a batch of writes of 64 bytes with ibv_wr_*, completes it, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long build() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) BUILD.invokeExact(
                            queuePair.nativeAddress(),
                            sendQueue.nativeAddress(),
                            sending.struct.address(),
                            peer.address(),
                            NullNic.BYTES,
                            rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        ExtendedQueuePair qp = queuePair;
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        EfaHardware hardware = sending;
        RemoteMemory remote = region.remote();
        AddressHandle way = self;
        int number = qp.number();
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            WorkRequestBuilder builder = qp.startWorkRequests();
            for (int i = 0; i < batch; i++) {
                builder.id(i + 1)
                        .signaled(true)
                        .rdmaWrite(remote)
                        .to(way, number, QKEY)
                        .add(region, 0, NullNic.BYTES);
            }
            builder.complete();
            hardware.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }

    /** Posts a chain of receives, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long postReceive() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) POST_RECEIVE.invokeExact(
                            queuePair.nativeAddress(),
                            receiveQueue.nativeAddress(),
                            receiving.struct.address(),
                            receiveChain.address(),
                            rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        ExtendedQueuePair qp = queuePair;
        CompletionQueue cq = receiveQueue;
        WorkCompletions wc = completions;
        EfaHardware hardware = receiving;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postReceive(receives);
            hardware.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }

    /** Polls an empty completion queue. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long pollEmpty() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) POLL_EMPTY.invokeExact(
                            sendQueue.nativeAddress(), rawCompletions.address(), CAPACITY, ROUNDS),
                    0);
        }
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            sum += cq.poll(wc);
        }
        return NullNic.checked(sum, 0);
    }
}
