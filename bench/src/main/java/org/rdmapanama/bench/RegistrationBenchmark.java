package org.rdmapanama.bench;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;

/**
 * Measures the cost of obtaining registered memory for a moment: by registering and deregistering existing memory, or
 * by taking a buffer from a pool and returning it. Needs a device; docs/REGISTRATION.md says how to run it, and has the
 * results.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
public class RegistrationBenchmark {
    private static final long POOL = 64L << 20;

    /** Size of the memory, in bytes. */
    @Param({"4096", "65536", "1048576", "16777216"})
    private long size;

    /** Whether the objects are shared between threads, which costs a lock. */
    @Param({"false", "true"})
    private boolean shared;

    private VerbsArena arena;
    private ProtectionDomain domain;
    private MemorySegment memory;
    private RegisteredPool pool;

    /** For JMH. */
    public RegistrationBenchmark() {}

    /** Opens the preferred device, and touches all memory once. */
    @Setup
    public void open() {
        // A confined arena belongs to one thread, and JMH runs the setup in the thread that measures.
        arena = shared ? VerbsArena.ofShared() : VerbsArena.ofConfined();
        domain = Context.open(arena).allocateProtectionDomain();
        memory = arena.allocate(size, 4096).fill((byte) 1);
        pool = RegisteredPool.create(domain, POOL, AccessFlag.LOCAL_WRITE);
    }

    /** Closes the device. */
    @TearDown
    public void close() {
        arena.close();
    }

    /** Registers and deregisters memory. */
    @Benchmark
    public int registerAndDeregister() {
        try (MemoryRegion region = domain.register(memory, AccessFlag.LOCAL_WRITE)) {
            return region.lkey();
        }
    }

    /** Takes a buffer from a pool and returns it. */
    @Benchmark
    public int allocateAndFree() {
        try (RegisteredBuffer buffer = pool.allocate(size)) {
            return buffer.lkey();
        }
    }
}
