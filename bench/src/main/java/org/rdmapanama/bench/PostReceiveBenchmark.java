package org.rdmapanama.bench;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
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
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Posts a chain of receives, and polls until all have completed. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PostReceiveBenchmark {
    private static final int ROUNDS = 1000;
    private static final MethodHandle LOOP = NullNic.loop("bench_post_recv", NullNic.LONGS_4_INTS_2);

    /** Number of work requests in a chain. */
    @Param("1")
    private int batch;

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private ReceiveWorkRequest first;
    private MemorySegment chain;
    private long queuePair;
    private long completionQueue;
    private long bad;
    private ByteBuffer completions;
    private long expected;

    /** For JMH. */
    public PostReceiveBenchmark() {}

    /** Opens the device and encodes the work requests. */
    @Setup
    public void open() {
        nic = NullNic.open(threads, false, batch);
        for (int i = batch - 1; i >= 0; i--) {
            first = ReceiveWorkRequest.allocate(nic.arena, 1)
                    .id(i + 1)
                    .add(nic.region, 0, NullNic.BYTES)
                    .next(first);
        }
        chain = Chain.ofReceives(nic.arena, batch, nic.region.address(), NullNic.BYTES, nic.region.lkey());
        queuePair = nic.queuePair.nativeAddress();
        completionQueue = nic.receives.nativeAddress();
        bad = nic.arena.allocate(Long.BYTES, Long.BYTES).address();
        completions = nic.rawBuffer;
        expected = ROUNDS * NullNic.sumOfIds(batch);
    }

    /** Closes the device. */
    @TearDown
    public void close() {
        nic.close();
    }

    /** The loop in C. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long c() throws Throwable {
        return NullNic.checked(
                (long) LOOP.invokeExact(
                        queuePair, completionQueue, chain.address(), nic.rawCompletions.address(), batch, ROUNDS),
                expected);
    }

    /** The same loop through JNI. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long jni() {
        long request = chain.address();
        long wc = nic.rawCompletions.address();
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            if (JniVerbs.postRecv(queuePair, request, bad) != 0) {
                throw new IllegalStateException("posting failed");
            }
            sum += CompletionPoller.takeByJni(completionQueue, wc, completions, batch);
        }
        return NullNic.checked(sum, expected);
    }

    /** The same loop through the object model. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long panama() {
        QueuePair qp = nic.queuePair;
        CompletionQueue cq = nic.receives;
        WorkCompletions wc = nic.completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postReceive(first);
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }
}
