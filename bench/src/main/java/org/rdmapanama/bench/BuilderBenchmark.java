package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

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
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.memory.RemoteMemory;

/** Builds a batch of signaled writes of 64 bytes with ibv_wr_*, completes it, and polls until all have completed. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class BuilderBenchmark {
    private static final int ROUNDS = 1000;
    private static final MethodHandle LOOP = NullNic.loop(
            "bench_wr",
            JAVA_LONG,
            JAVA_LONG,
            JAVA_INT,
            JAVA_LONG,
            JAVA_INT,
            JAVA_INT,
            JAVA_LONG,
            JAVA_LONG,
            JAVA_INT,
            JAVA_INT);

    /** Number of work requests in a batch. */
    @Param("1")
    private int batch;

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private long queuePair;
    private long completionQueue;
    private long expected;

    /** For JMH. */
    public BuilderBenchmark() {}

    /** Opens the device. */
    @Setup
    public void open() {
        nic = NullNic.open(threads, true, batch);
        queuePair = nic.queuePair.nativeAddress();
        completionQueue = nic.sends.nativeAddress();
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
                        queuePair,
                        completionQueue,
                        nic.region.lkey(),
                        nic.region.address(),
                        NullNic.BYTES,
                        nic.region.rkey(),
                        nic.region.address(),
                        nic.rawCompletions.address(),
                        batch,
                        ROUNDS),
                expected);
    }

    /** The same loop through the object model. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long panama() {
        ExtendedQueuePair qp = (ExtendedQueuePair) nic.queuePair;
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        MemoryRegion region = nic.region;
        RemoteMemory remote = region.remote();
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            WorkRequestBuilder builder = qp.startWorkRequests();
            for (int i = 0; i < batch; i++) {
                builder.id(i + 1).signaled(true).rdmaWrite(remote).add(region, 0, NullNic.BYTES);
            }
            builder.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }
}
