package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Completions;
import org.rdmapanama.testing.ConnectedPair;

/** A connected pair on one context of soft0, with one completion queue and one memory; closing it closes all. */
final class SoftPair implements AutoCloseable {
    static final int BYTES = 1 << 20;
    static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int DEPTH = 64;

    final VerbsArena arena;
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue queue;
    final QueuePair a;
    final QueuePair b;
    final MemorySegment memory;
    final MemoryRegion region;
    private final ConnectedPair pair;
    private final WorkCompletions completions;

    /** With names and values of settings, which hold while the device is open. */
    SoftPair(QueuePairType type, ConnectOptions options, String... settings) {
        pair = ConnectedPair.of(type)
                .through(own -> DeviceProperties.with(settings, () -> Context.open(own, SoftDevice.NAME)))
                .shared()
                .bufferSize(BYTES)
                .queues(DEPTH, DEPTH)
                .queueEntries(4 * DEPTH)
                .segments(2)
                .limit(LIMIT)
                .connectA(options)
                .connectB(options)
                .open();
        arena = pair.a.arena;
        context = pair.a.context;
        domain = pair.a.domain;
        queue = pair.a.queue;
        a = pair.a.queuePair;
        b = pair.b.queuePair;
        memory = pair.a.memory;
        region = pair.a.region;
        completions = new WorkCompletions(arena, 1);
    }

    SendWorkRequest request() {
        return SendWorkRequest.allocate(arena, 2).signaled(true);
    }

    /** Posts, and waits until it has completed, well. */
    void complete(SendWorkRequest request) {
        a.postSend(request);
        assertEquals(CompletionStatus.SUCCESS, next().status(0));
    }

    /** The next completion. */
    WorkCompletions next() {
        return Completions.awaitAny(queue, completions, LIMIT);
    }

    /** How many packets something was done to on purpose. */
    long faults() {
        return SoftDevice.contextAt(context.nativeAddress()).device().wire().faults();
    }

    @Override
    public void close() {
        pair.close();
    }
}
