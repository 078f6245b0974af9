package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
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
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.verbs.ibv_wc;

/** Reads the status, identifier and length of sixteen completions. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DecodeBenchmark {
    private static final int ROUNDS = 1000;
    private static final int COUNT = 16;
    private static final long EXPECTED = ROUNDS * (NullNic.sumOfIds(COUNT) + COUNT * NullNic.BYTES);
    private static final MethodHandle LOOP = NullNic.loop("bench_decode", JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final int STATUS = (int) ibv_wc.status$offset();
    private static final int ID = (int) ibv_wc.wr_id$offset();
    private static final int LENGTH = (int) ibv_wc.byte_len$offset();
    private static final int SIZE = (int) ibv_wc.sizeof();

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private ByteBuffer completions;

    /** Number of completions; not a constant, as in a real program. */
    private int count;

    /** For JMH. */
    public DecodeBenchmark() {}

    /** Opens the device, and lets sixteen writes complete. */
    @Setup
    public void open() {
        nic = NullNic.open(threads, false, COUNT);
        SendWorkRequest first = null;
        for (int i = COUNT - 1; i >= 0; i--) {
            first = SendWorkRequest.allocate(nic.arena, 1)
                    .id(i + 1)
                    .rdmaWrite(nic.region.remote())
                    .add(nic.region, 0, NullNic.BYTES)
                    .signaled(true)
                    .next(first);
        }
        nic.queuePair.postSend(first);
        count = nic.sends.poll(nic.completions);
        if (count != COUNT) {
            throw new IllegalStateException("not all writes have completed");
        }
        for (int i = 0; i < COUNT; i++) {
            MemorySegment completion = ibv_wc.asSlice(nic.rawCompletions, i);
            ibv_wc.wr_id(completion, i + 1);
            ibv_wc.byte_len(completion, NullNic.BYTES);
        }
        completions = nic.rawBuffer;
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
        return NullNic.checked((long) LOOP.invokeExact(nic.rawCompletions.address(), COUNT, ROUNDS), EXPECTED);
    }

    /** The same from a buffer, as in JNI bindings. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long jni() {
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            // Makes the compiler assume that memory has changed.
            VarHandle.acquireFence();
            for (int i = 0; i < count; i++) {
                if (completions.getInt(i * SIZE + STATUS) != 0) {
                    throw new IllegalStateException("failed");
                }
                sum += completions.getLong(i * SIZE + ID) + completions.getInt(i * SIZE + LENGTH);
            }
        }
        return NullNic.checked(sum, EXPECTED);
    }

    /** The same loop through the object model. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long panama() {
        WorkCompletions wc = nic.completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            VarHandle.acquireFence();
            int polled = wc.count();
            for (int i = 0; i < polled; i++) {
                if (!wc.succeeded(i)) {
                    throw new IllegalStateException(wc.describe(i));
                }
                sum += wc.id(i) + wc.byteLength(i);
            }
        }
        return NullNic.checked(sum, EXPECTED);
    }
}
