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
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;

/**
 * Posts and polls on a card in memory, under the real driver, in a way that {@link DirectComparison} names. The card is halted;
 * {@link CardHardware} completes the work requests.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public abstract class CardBenchmark {
    static final int ROUNDS = 1000;

    /** How many completions a poll takes at most, if a chain is not longer. */
    static final int CAPACITY = 16;

    private final MethodHandle postSend;
    private final MethodHandle postReceive;
    private final MethodHandle pollEmpty;

    /** Number of work requests in a chain or a batch. */
    @Param("1")
    int batch;

    /** Whether the loop is in C. */
    @Param("false")
    boolean c;

    /** Whether work requests are posted with a builder. */
    @Param("false")
    boolean extended;

    /** Which threads may use the objects. */
    @Param("CONFINED")
    Threads threads;

    /** Owns all objects. */
    VerbsArena arena;

    CompletionQueue sendQueue;
    CompletionQueue receiveQueue;
    QueuePair queuePair;
    MemoryRegion region;
    WorkCompletions completions;

    /** For C. */
    MemorySegment rawCompletions;

    CardHardware sending;
    CardHardware receiving;

    /** The sum of the identifiers of all work requests of an invocation. */
    long expected;

    private SendWorkRequest sends;
    private ReceiveWorkRequest receives;
    private MemorySegment sendChain;
    private MemorySegment receiveChain;

    /** With the C loops of a library. */
    CardBenchmark(String library) {
        postSend = posting(library, "bench_post_send");
        postReceive = posting(library, "bench_post_recv");
        pollEmpty = NullNic.loop(library, "bench_poll_empty", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    }

    private static MethodHandle posting(String library, String name) {
        return NullNic.loop(library, name, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    }

    /**
     * Makes the chains of work requests.
     *
     * @param chain that of sends, for C
     */
    final void makeRequests(MemorySegment chain) {
        sendChain = chain;
        for (int i = batch - 1; i >= 0; i--) {
            sends = send(SendWorkRequest.allocate(arena, 1))
                    .id(i + 1)
                    .signaled(true)
                    .add(region, 0, NullNic.BYTES)
                    .next(sends);
            receives = ReceiveWorkRequest.allocate(arena, 1)
                    .id(i + 1)
                    .add(region, 0, NullNic.BYTES)
                    .next(receives);
        }
        receiveChain = Chain.ofReceives(arena, batch, region.address(), NullNic.BYTES, region.lkey());
        expected = ROUNDS * NullNic.sumOfIds(batch);
    }

    /** Sets the operation of a send, and its destination. */
    abstract SendWorkRequest send(SendWorkRequest request);

    /** Closes the device. */
    @TearDown
    public void close() {
        arena.close();
    }

    /** Posts a chain of sends or writes of 64 bytes, all signaled, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long postSend() throws Throwable {
        if (c) {
            return postInC(postSend, sendQueue, sending, sendChain);
        }
        QueuePair qp = queuePair;
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        CardHardware hardware = sending;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postSend(sends);
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
            return postInC(postReceive, receiveQueue, receiving, receiveChain);
        }
        QueuePair qp = queuePair;
        CompletionQueue cq = receiveQueue;
        WorkCompletions wc = completions;
        CardHardware hardware = receiving;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postReceive(receives);
            hardware.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }

    private long postInC(MethodHandle loop, CompletionQueue queue, CardHardware hardware, MemorySegment chain)
            throws Throwable {
        long sum = (long) loop.invokeExact(
                queuePair.nativeAddress(),
                queue.nativeAddress(),
                hardware.struct.address(),
                chain.address(),
                rawCompletions.address(),
                batch,
                ROUNDS);
        return NullNic.checked(sum, expected);
    }

    /** Polls an empty completion queue. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long pollEmpty() throws Throwable {
        if (c) {
            long count =
                    (long) pollEmpty.invokeExact(sendQueue.nativeAddress(), rawCompletions.address(), CAPACITY, ROUNDS);
            return NullNic.checked(count, 0);
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
