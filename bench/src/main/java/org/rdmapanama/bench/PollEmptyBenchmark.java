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
import org.rdmapanama.WorkCompletions;

/** Polls an empty completion queue, as a busy program does most of the time. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PollEmptyBenchmark {
    private static final int ROUNDS = 1000;
    private static final int CAPACITY = 16;
    private static final MethodHandle LOOP = NullNic.loop("bench_poll_empty", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private long completionQueue;

    /** For JMH. */
    public PollEmptyBenchmark() {}

    /** Opens the device. */
    @Setup
    public void open() {
        nic = NullNic.open(threads, false, CAPACITY);
        completionQueue = nic.sends.nativeAddress();
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
                (long) LOOP.invokeExact(completionQueue, nic.rawCompletions.address(), CAPACITY, ROUNDS), 0);
    }

    /** The same loop through JNI. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long jni() {
        long wc = nic.rawCompletions.address();
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            int count = JniVerbs.pollCq(completionQueue, CAPACITY, wc);
            if (count < 0) {
                throw new IllegalStateException("polling failed");
            }
            sum += count;
        }
        return NullNic.checked(sum, 0);
    }

    /** The same loop through the object model. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long panama() {
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            sum += cq.poll(wc);
        }
        return NullNic.checked(sum, 0);
    }
}
