package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Setup;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePairOptions;
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
 * An EFA card, with an SRD queue pair. Chains are of sends, and batches of writes, which EFA takes from a builder only. The card is
 * halted at once.
 */
public class EfaBenchmark extends CardBenchmark {
    private static final int DEPTH = 256;
    private static final int MAX_SEGMENTS = 2;
    private static final int MAX_INLINE = 32;
    private static final int QKEY = 0x1111_1111;

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

    private ExtendedQueuePair extendedQueuePair;
    private AddressHandle self;
    private MemorySegment peer;

    /** For JMH. */
    public EfaBenchmark() {
        super(EfaHardware.LIBRARY);
    }

    /** For a test, which calls {@link #take} instead of {@link #open}. */
    EfaBenchmark(int batch, boolean c, boolean extended, Threads threads) {
        this();
        this.batch = batch;
        this.c = c;
        this.extended = extended;
        this.threads = threads;
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
        extendedQueuePair = EfaDevice.of(context)
                .createExtendedQueuePair(
                        domain,
                        new QueuePairOptions(QueuePairType.DRIVER, sendQueue, receiveQueue)
                                .maxSendWorkRequests(DEPTH)
                                .maxReceiveWorkRequests(DEPTH)
                                .maxSegments(MAX_SEGMENTS, 1)
                                .maxInlineData(MAX_INLINE)
                                .sendOperations(SendOperation.SEND, SendOperation.RDMA_WRITE));
        queuePair = extendedQueuePair;
        queuePair.activate();
        self = domain.createAddressHandle(queuePair.pathTo(queuePair.localEndpoint()));
        int capacity = Math.max(batch, CAPACITY);
        completions = new WorkCompletions(arena, capacity);
        rawCompletions = arena.allocate(ibv_wc.sizeof() * capacity, Long.BYTES);
        int number = queuePair.number();
        makeRequests(Chain.ofDatagrams(
                arena, batch, region.address(), NullNic.BYTES, region.lkey(), self.nativeAddress(), number, QKEY));
        peer = arena.allocate(PEER_BYTES, Long.BYTES);
        peer.set(JAVA_LONG, 0, self.nativeAddress());
        peer.set(JAVA_LONG, 8, region.address());
        peer.set(JAVA_INT, 16, number);
        peer.set(JAVA_INT, 20, QKEY);
        peer.set(JAVA_INT, 24, region.rkey());
        peer.set(JAVA_INT, 28, region.lkey());
        Cards.pause(true);
        sending = EfaHardware.ofSends(arena, queuePair, sendQueue, extended);
        receiving = EfaHardware.ofReceives(arena, queuePair, receiveQueue, NullNic.BYTES);
    }

    @Override
    SendWorkRequest send(SendWorkRequest request) {
        return request.send().to(self, queuePair.number(), QKEY);
    }

    /** Whether Java writes the queues. */
    boolean isDirect() {
        return queuePair.isDirect();
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
        ExtendedQueuePair qp = extendedQueuePair;
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        CardHardware hardware = sending;
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
}
