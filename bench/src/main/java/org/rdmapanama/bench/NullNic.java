package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ParentDomainOptions;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * A queue pair of nullnic.c, the device that does nothing, and the objects that a benchmark needs with it. The system
 * property {@code org.rdmapanama.libibverbs} makes the object model load that library instead of libibverbs. Without it
 * the queue pair is one of the first device, as in {@link DirectBenchmark}.
 */
final class NullNic implements AutoCloseable {
    /** Number of bytes that each work request moves. */
    static final int BYTES = 64;

    private static final int MAX_SEGMENTS = 4;
    private static final int DEPTH = 256;

    final VerbsArena arena;
    final CompletionQueue sends;
    final CompletionQueue receives;
    final QueuePair queuePair;
    final MemoryRegion region;
    final WorkCompletions completions;

    /** The same as {@link #completions}, for C and JNI. */
    final MemorySegment rawCompletions;

    /** The same memory as seen by JNI bindings: not protected by an arena. */
    final ByteBuffer rawBuffer;

    private NullNic(VerbsArena arena, boolean extended, boolean threadDomain, int batch) {
        this.arena = arena;
        Context context = Context.open(arena);
        ProtectionDomain plain = context.allocateProtectionDomain();
        ProtectionDomain domain = threadDomain
                ? plain.createParentDomain(new ParentDomainOptions().threadDomain(context.allocateThreadDomain()))
                : plain;
        region = domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        if (threadDomain) {
            sends = context.createCompletionQueue(new CompletionQueueOptions(DEPTH)
                    .channel(context.createCompletionChannel())
                    .singleThreaded(true)
                    .parentDomain(domain));
            receives = context.createCompletionQueue(
                    new CompletionQueueOptions(DEPTH).singleThreaded(true).parentDomain(domain));
        } else {
            sends = context.createCompletionQueue(DEPTH, context.createCompletionChannel(), 0);
            receives = context.createCompletionQueue(DEPTH);
        }
        QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, sends, receives)
                .maxSendWorkRequests(DEPTH)
                .maxReceiveWorkRequests(DEPTH)
                .maxSegments(MAX_SEGMENTS, 1)
                .maxInlineData(BYTES);
        queuePair = extended
                ? domain.createExtendedQueuePair(options.sendOperations(SendOperation.RDMA_WRITE))
                : domain.createQueuePair(options);

        queuePair.connect(queuePair.localEndpoint());
        completions = new WorkCompletions(arena, batch);
        rawBuffer = ByteBuffer.allocateDirect((int) ibv_wc.sizeof() * batch).order(ByteOrder.nativeOrder());
        rawCompletions = MemorySegment.ofBuffer(rawBuffer);
    }

    /** Creates the objects for the calling thread. */
    static NullNic open(Threads threads, boolean extended, int batch) {
        return open(threads, extended, false, batch);
    }

    /** The same, with everything in a thread domain, in which a driver takes no locks, if that is wanted. */
    static NullNic open(Threads threads, boolean extended, boolean threadDomain, int batch) {
        VerbsArena arena = threads == Threads.CONFINED ? VerbsArena.ofConfined() : VerbsArena.ofShared();
        NullNic nic = new NullNic(arena, extended, threadDomain, batch);
        if (threads == Threads.BOUND) {
            nic.queuePair.bindToThread();
            nic.sends.bindToThread();
            nic.receives.bindToThread();
        }
        return nic;
    }

    @Override
    public void close() {
        arena.close();
    }

    /** Returns the directory of the libraries compiled by bin/bench. */
    static String nativeFile(String name) {
        String folder = System.getProperty("org.rdmapanama.bench.native");
        if (folder == null) {
            throw new IllegalStateException(
                    "the system property org.rdmapanama.bench.native is not set: start this with bin/bench");
        }
        return Path.of(folder, name).toAbsolutePath().toString();
    }

    /**
     * Returns a C loop of nullnic.c: takes addresses and numbers, and returns a sum, or a negative number on failure.
     */
    static MethodHandle loop(String name, MemoryLayout... arguments) {
        return loop("libnullnic-rdmav34.so", name, arguments);
    }

    /** The same of another library that bin/bench compiles. */
    @SuppressWarnings("restricted")
    static MethodHandle loop(String library, String name, MemoryLayout... arguments) {
        MemorySegment function = SymbolLookup.libraryLookup(nativeFile(library), Arena.global())
                .find(name)
                .orElseThrow();
        return Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.of(JAVA_LONG, arguments));
    }

    /** Returns the sum of the identifiers of a number of work requests, which count from 1. */
    static long sumOfIds(int count) {
        return count * (count + 1L) / 2;
    }

    /** Checks the result of a benchmark: a wrong result makes the measurement void. */
    static long checked(long sum, long expected) {
        if (sum != expected) {
            throw new IllegalStateException(
                    sum < 0
                            ? "a work request or a completion failed"
                            : "the sum of the identifiers is " + sum + " instead of " + expected);
        }
        return sum;
    }

    static final MemoryLayout[] LONGS_4_INTS_2 = {JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT};
}
