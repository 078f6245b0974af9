package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
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
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.cards.Cards;
import org.rdmapanama.memory.RemoteMemory;

/**
 * Posts and polls on a ConnectX card in memory, under the real driver, in a way that {@link DirectComparison} names. The card
 * executes the first work requests and is halted then; {@link Mlx5Hardware} completes all others.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DirectBenchmark {
    private static final int ROUNDS = 1000;
    private static final int CAPACITY = 16;
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private static final MethodHandle POST_SEND = posting("bench_post_send");
    private static final MethodHandle POST_RECEIVE = posting("bench_post_recv");
    private static final MethodHandle POLL_EMPTY =
            NullNic.loop(Mlx5Hardware.LIBRARY, "bench_poll_empty", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle BUILD = NullNic.loop(
            Mlx5Hardware.LIBRARY,
            "bench_wr",
            JAVA_LONG,
            JAVA_LONG,
            JAVA_LONG,
            JAVA_INT,
            JAVA_INT,
            JAVA_LONG,
            JAVA_INT,
            JAVA_LONG,
            JAVA_INT,
            JAVA_INT);

    /** Number of work requests in a chain or a batch. */
    @Param("1")
    private int batch;

    /** Whether the loop is in C. */
    @Param("false")
    private boolean c;

    /** Whether work requests are posted with a builder. */
    @Param("false")
    private boolean extended;

    /** Whether the driver is told that the process has one thread, so that it takes no locks. */
    @Param("false")
    private boolean singleThreaded;

    /** Whether the objects are in a thread domain, so that the driver takes no locks. */
    @Param("false")
    private boolean threadDomain;

    /** Which threads may use the objects. */
    @Param("CONFINED")
    private Threads threads;

    private NullNic nic;
    private Mlx5Hardware sending;
    private Mlx5Hardware receiving;
    private SendWorkRequest sends;
    private ReceiveWorkRequest receives;
    private MemorySegment sendChain;
    private MemorySegment receiveChain;
    private long expected;

    /** For JMH. */
    public DirectBenchmark() {}

    private static MethodHandle posting(String name) {
        return NullNic.loop(
                Mlx5Hardware.LIBRARY, name, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT);
    }

    /** Puts the card into this JVM, opens it, and takes its place. */
    @Setup
    public void open() throws Throwable {
        if (singleThreaded) {
            setEnvironment("MLX5_SINGLE_THREADED", "1");
        }
        Cards.insert("mlx5");
        nic = NullNic.open(threads, extended, threadDomain, Math.max(batch, CAPACITY));
        MemoryRegion region = nic.region;
        for (int i = batch - 1; i >= 0; i--) {
            sends = SendWorkRequest.allocate(nic.arena, 1)
                    .id(i + 1)
                    .rdmaWrite(region.remote())
                    .signaled(true)
                    .add(region, 0, NullNic.BYTES)
                    .next(sends);
            receives = ReceiveWorkRequest.allocate(nic.arena, 1)
                    .id(i + 1)
                    .add(region, 0, NullNic.BYTES)
                    .next(receives);
        }
        sendChain = Chain.ofWrites(
                nic.arena, batch, 1, false, region.address(), NullNic.BYTES, region.lkey(), region.rkey());
        receiveChain = Chain.ofReceives(nic.arena, batch, region.address(), NullNic.BYTES, region.lkey());
        expected = ROUNDS * NullNic.sumOfIds(batch);

        nic.queuePair.postReceive(ReceiveWorkRequest.allocate(nic.arena, 1).add(region, NullNic.BYTES, NullNic.BYTES));
        SendWorkRequest first = SendWorkRequest.allocate(nic.arena, 1)
                .rdmaWrite(region.remote())
                .signaled(true)
                .add(region, 0, NullNic.BYTES);
        nic.queuePair.postSend(first);
        awaitOne(nic.sends);
        nic.queuePair.postSend(first.send());
        awaitOne(nic.sends);
        awaitOne(nic.receives);
        Cards.pause(true);
        sending = new Mlx5Hardware(nic.arena, nic.queuePair, nic.sends, false, 2);
        receiving = new Mlx5Hardware(nic.arena, nic.queuePair, nic.receives, true, 1);
    }

    /** setenv(3): the driver reads its variables when the device is opened. */
    @SuppressWarnings("restricted")
    private static void setEnvironment(String name, String value) throws Throwable {
        Linker linker = Linker.nativeLinker();
        MethodHandle set = linker.downcallHandle(
                linker.defaultLookup().find("setenv").orElseThrow(),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            int result = (int) set.invokeExact(arena.allocateFrom(name), arena.allocateFrom(value), 1);
            if (result != 0) {
                throw new IllegalStateException("setenv failed for " + name);
            }
        }
    }

    private void awaitOne(CompletionQueue queue) throws InterruptedException {
        if (Spinning.await(queue, nic.completions, LIMIT) != 1 || !nic.completions.succeeded(0)) {
            throw new IllegalStateException("the card did not complete one work request within " + LIMIT);
        }
    }

    /** Closes the device. */
    @TearDown
    public void close() {
        nic.close();
    }

    /** Posts a chain of signaled writes of 64 bytes, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long postSend() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) POST_SEND.invokeExact(
                            nic.queuePair.nativeAddress(),
                            nic.sends.nativeAddress(),
                            sending.struct.address(),
                            sendChain.address(),
                            nic.rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        QueuePair qp = nic.queuePair;
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        Mlx5Hardware hardware = sending;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            qp.postSend(sends);
            hardware.complete();
            sum += CompletionPoller.take(cq, wc, batch);
        }
        return NullNic.checked(sum, expected);
    }

    /** Builds a batch of signaled writes of 64 bytes with ibv_wr_*, completes it, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long build() throws Throwable {
        MemoryRegion region = nic.region;
        if (c) {
            return NullNic.checked(
                    (long) BUILD.invokeExact(
                            nic.queuePair.nativeAddress(),
                            nic.sends.nativeAddress(),
                            sending.struct.address(),
                            region.lkey(),
                            region.rkey(),
                            region.address(),
                            NullNic.BYTES,
                            nic.rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        ExtendedQueuePair qp = (ExtendedQueuePair) nic.queuePair;
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        Mlx5Hardware hardware = sending;
        RemoteMemory remote = region.remote();
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            WorkRequestBuilder builder = qp.startWorkRequests();
            for (int i = 0; i < batch; i++) {
                builder.id(i + 1).signaled(true).rdmaWrite(remote).add(region, 0, NullNic.BYTES);
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
                            nic.queuePair.nativeAddress(),
                            nic.receives.nativeAddress(),
                            receiving.struct.address(),
                            receiveChain.address(),
                            nic.rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        QueuePair qp = nic.queuePair;
        CompletionQueue cq = nic.receives;
        WorkCompletions wc = nic.completions;
        Mlx5Hardware hardware = receiving;
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
                            nic.sends.nativeAddress(), nic.rawCompletions.address(), CAPACITY, ROUNDS),
                    0);
        }
        CompletionQueue cq = nic.sends;
        WorkCompletions wc = nic.completions;
        long sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            sum += cq.poll(wc);
        }
        return NullNic.checked(sum, 0);
    }
}
