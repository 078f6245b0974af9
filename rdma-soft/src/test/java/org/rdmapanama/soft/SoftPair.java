package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.AccessFlag;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;

/** Two queue pairs of soft0, connected, and memory; closing it closes all. */
final class SoftPair implements AutoCloseable {
    static final int BYTES = 1 << 20;
    private static final long LIMIT_NANOS = 20_000_000_000L;
    private static final int DEPTH = 64;

    final VerbsArena arena = VerbsArena.ofConfined();
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final QueuePair a;
    final QueuePair b;
    final MemorySegment memory;
    final MemoryRegion region;
    private final WorkCompletions completions;

    /** With names and values of settings, which hold while the device is open. */
    SoftPair(QueuePairType type, ConnectOptions options, String... settings) {
        for (int i = 0; i < settings.length; i += 2) {
            System.setProperty("org.rdmapanama.soft." + settings[i], settings[i + 1]);
        }
        try {
            context = Context.open(arena, SoftDevice.NAME);
        } finally {
            for (int i = 0; i < settings.length; i += 2) {
                System.clearProperty("org.rdmapanama.soft." + settings[i]);
            }
        }
        domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(4 * DEPTH);
        a = domain.createQueuePair(options(type));
        b = domain.createQueuePair(options(type));
        a.localEndpoint(options);
        b.localEndpoint(options);
        a.connect(b.localEndpoint());
        b.connect(a.localEndpoint());
        memory = arena.allocate(BYTES, 4096);
        region = domain.register(
                memory,
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_ATOMIC);
        completions = new WorkCompletions(arena, 1);
    }

    private QueuePairOptions options(QueuePairType type) {
        return new QueuePairOptions(type, queue, queue)
                .maxSendWorkRequests(DEPTH)
                .maxReceiveWorkRequests(DEPTH)
                .maxSegments(2, 2);
    }

    /** Bytes that tell where they are. */
    static void fill(MemorySegment segment, int seed) {
        for (long i = 0; i < segment.byteSize(); i++) {
            segment.set(JAVA_BYTE, i, (byte) (seed + i + i / 251));
        }
    }

    SendWorkRequest request() {
        return SendWorkRequest.allocate(arena, 2).signaled(true);
    }

    /** Posts, and waits until it has completed, well. */
    void complete(SendWorkRequest request) {
        assertEquals(QueuePair.POSTED, a.postSend(request));
        assertEquals(CompletionStatus.SUCCESS, next().status(0));
    }

    /** The next completion. */
    WorkCompletions next() {
        long start = System.nanoTime();
        while (queue.poll(completions) == 0) {
            assertTrue(System.nanoTime() - start < LIMIT_NANOS, "no completion came");
            Thread.onSpinWait();
        }
        return completions;
    }

    /** How many packets something was done to on purpose. */
    long faults() {
        return SoftDevice.contextAt(context.nativeAddress()).device().wire().faults();
    }

    @Override
    public void close() {
        arena.close();
    }
}
