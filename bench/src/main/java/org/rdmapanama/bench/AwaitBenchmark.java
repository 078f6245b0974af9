package org.rdmapanama.bench;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
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
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** Posts a signaled write of 64 bytes and awaits its completion, which is there already: what an await costs over a poll. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AwaitBenchmark {
    private static final int ROUNDS = 1000;
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final MethodHandle LOOP = NullNic.loop("bench_post_send", NullNic.LONGS_4_INTS_2);

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private SendWorkRequest write;
    private MemorySegment chain;

    /** For JMH. */
    public AwaitBenchmark() {}

    /** Opens the device and encodes the work requests. */
    @Setup
    public void open() {
        nic = NullNic.open(threads, false, 1);
        write = SendWorkRequest.allocate(nic.arena, 1)
                .id(1)
                .rdmaWrite(nic.region.remote())
                .add(nic.region, 0, NullNic.BYTES)
                .signaled(true);
        chain = Chain.ofWrites(
                nic.arena, 1, 1, false, nic.region.address(), NullNic.BYTES, nic.region.lkey(), nic.region.rkey());
    }

    /** Closes the device. */
    @TearDown
    public void close() {
        nic.close();
    }

    /** The loop in C, which polls. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long c() throws Throwable {
        return NullNic.checked(
                (long) LOOP.invokeExact(
                        nic.queuePair.nativeAddress(),
                        nic.sends.nativeAddress(),
                        chain.address(),
                        nic.rawCompletions.address(),
                        1,
                        ROUNDS),
                ROUNDS);
    }

    /** The same through the object model, with an await. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long panama() throws InterruptedException {
        QueuePair qp = nic.queuePair;
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postSend(write);
            if (cq.await(wc, LIMIT) != 1 || !wc.succeeded(0)) {
                throw new IllegalStateException("no completion came, or a failure");
            }
            sum += wc.id(0);
        }
        return NullNic.checked(sum, ROUNDS);
    }
}
