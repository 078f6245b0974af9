package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.cards.Cards;
import org.rdmapanama.memory.RemoteMemory;

/**
 * A ConnectX card, with an RC queue pair that is connected to itself. The card executes the first work requests, and is halted
 * then.
 */
public class DirectBenchmark extends CardBenchmark {
    private static final Duration LIMIT = Duration.ofSeconds(30);

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

    /** Whether the driver is told that the process has one thread, so that it takes no locks. */
    @Param("false")
    private boolean singleThreaded;

    /** Whether the objects are in a thread domain, so that the driver takes no locks. */
    @Param("false")
    private boolean threadDomain;

    /** For JMH. */
    public DirectBenchmark() {
        super(Mlx5Hardware.LIBRARY);
    }

    /** Puts the card into this JVM, opens it, and takes its place. */
    @Setup
    public void open() throws Throwable {
        if (singleThreaded) {
            setEnvironment("MLX5_SINGLE_THREADED", "1");
        }
        Cards.insert("mlx5");
        NullNic nic = NullNic.open(threads, extended, threadDomain, Math.max(batch, CAPACITY));
        arena = nic.arena;
        sendQueue = nic.sends;
        receiveQueue = nic.receives;
        queuePair = nic.queuePair;
        region = nic.region;
        completions = nic.completions;
        rawCompletions = nic.rawCompletions;
        makeRequests(
                Chain.ofWrites(arena, batch, 1, false, region.address(), NullNic.BYTES, region.lkey(), region.rkey()));
        executeFirst();
        Cards.pause(true);
        sending = new Mlx5Hardware(arena, queuePair, sendQueue, false, 2);
        receiving = new Mlx5Hardware(arena, queuePair, receiveQueue, true, 1);
    }

    @Override
    SendWorkRequest send(SendWorkRequest request) {
        return request.rdmaWrite(region.remote());
    }

    /** Lets the card execute a write, a send and a receive, whose completions are a pattern for all others. */
    private void executeFirst() throws InterruptedException {
        queuePair.postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, NullNic.BYTES, NullNic.BYTES));
        SendWorkRequest first = SendWorkRequest.allocate(arena, 1)
                .rdmaWrite(region.remote())
                .signaled(true)
                .add(region, 0, NullNic.BYTES);
        queuePair.postSend(first);
        awaitOne(sendQueue);
        queuePair.postSend(first.send());
        awaitOne(sendQueue);
        awaitOne(receiveQueue);
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
        if (Spinning.await(queue, completions, LIMIT) != 1 || !completions.succeeded(0)) {
            throw new IllegalStateException("the card did not complete one work request within " + LIMIT);
        }
    }

    /** Builds a batch of signaled writes of 64 bytes with ibv_wr_*, completes it, and polls until all have completed. */
    @Benchmark
    @OperationsPerInvocation(ROUNDS)
    public long build() throws Throwable {
        if (c) {
            return NullNic.checked(
                    (long) BUILD.invokeExact(
                            queuePair.nativeAddress(),
                            sendQueue.nativeAddress(),
                            sending.struct.address(),
                            region.lkey(),
                            region.rkey(),
                            region.address(),
                            NullNic.BYTES,
                            rawCompletions.address(),
                            batch,
                            ROUNDS),
                    expected);
        }
        ExtendedQueuePair qp = (ExtendedQueuePair) queuePair;
        CompletionQueue cq = sendQueue;
        WorkCompletions wc = completions;
        CardHardware hardware = sending;
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
}
