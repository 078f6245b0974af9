package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairType;

/**
 * Sends, writes, reads and atomics from one queue pair to another of the same device, in rounds. The first word of all
 * data is the number of the round, which is checked each time.
 *
 * <p>A round allocates nothing. Threads: the one that owns the arena.
 */
final class SoakTraffic {
    /** Number of work requests posted in a round, all of them signaled. */
    static final int OPERATIONS_IN_A_ROUND = 16;

    private static final int OF_EACH_KIND = OPERATIONS_IN_A_ROUND / 4;
    private static final int COMPLETIONS_IN_A_ROUND = OPERATIONS_IN_A_ROUND + OF_EACH_KIND;

    // Layout of both regions: buffers for messages, for writes and for reads, then the words of the atomics.
    private static final int BYTES = 256;
    private static final long SENDS = 0;
    private static final long WRITES = SENDS + OF_EACH_KIND * BYTES;
    private static final long READS = WRITES + OF_EACH_KIND * BYTES;
    private static final long ATOMICS = READS + OF_EACH_KIND * BYTES;
    private static final long SIZE = ATOMICS + OF_EACH_KIND * BYTES;

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final CompletionQueue queue;
    private final QueuePair near;
    private final QueuePair far;
    private final MemoryRegion nearRegion;
    private final MemoryRegion farRegion;
    private final MemorySegment nearMemory;
    private final MemorySegment farMemory;
    private final SendWorkRequest[] requests = new SendWorkRequest[OPERATIONS_IN_A_ROUND];
    private final ReceiveWorkRequest[] receives = new ReceiveWorkRequest[OF_EACH_KIND];
    private final WorkCompletions completions;
    private long rounds;

    SoakTraffic(VerbsArena arena, Context context) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(COMPLETIONS_IN_A_ROUND);
        near = domain.createQueuePair(options());
        far = domain.createQueuePair(options());
        near.connect(far.localEndpoint());
        far.connect(near.localEndpoint());
        nearRegion = register(domain, arena);
        farRegion = register(domain, arena);
        nearMemory = nearRegion.memory();
        farMemory = farRegion.memory();
        completions = new WorkCompletions(arena, COMPLETIONS_IN_A_ROUND);
        for (int i = 0; i < OF_EACH_KIND; i++) {
            long place = i * (long) BYTES;
            receives[i] = ReceiveWorkRequest.allocate(arena, 1).add(farRegion, SENDS + place, BYTES);
            requests[4 * i] = request(arena, SENDS + place, BYTES).send();
            requests[4 * i + 1] = request(arena, WRITES + place, BYTES).rdmaWrite(at(WRITES + place));
            requests[4 * i + 2] = request(arena, READS + place, BYTES).rdmaRead(at(READS + place));
            requests[4 * i + 3] = request(arena, ATOMICS + place, Long.BYTES).fetchAndAdd(at(ATOMICS + place), 1);
        }
    }

    private QueuePairOptions options() {
        return new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(OPERATIONS_IN_A_ROUND)
                .maxReceiveWorkRequests(OF_EACH_KIND);
    }

    private static MemoryRegion register(ProtectionDomain domain, VerbsArena arena) {
        return domain.register(
                arena.allocate(SIZE, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_READ,
                AccessFlag.REMOTE_ATOMIC);
    }

    private SendWorkRequest request(VerbsArena arena, long offset, long length) {
        return SendWorkRequest.allocate(arena, 1)
                .add(nearRegion, offset, length)
                .signaled(true);
    }

    private RemoteMemory at(long offset) {
        return farRegion.remote().slice(offset);
    }

    /** Posts and polls a number of rounds. */
    void run(int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            stamp();
            post();
            await();
            check();
            rounds++;
        }
    }

    private void stamp() {
        for (int i = 0; i < OF_EACH_KIND; i++) {
            long place = i * (long) BYTES;
            nearMemory.set(JAVA_LONG, SENDS + place, rounds);
            nearMemory.set(JAVA_LONG, WRITES + place, rounds);
            farMemory.set(JAVA_LONG, READS + place, rounds);
        }
    }

    private void post() {
        for (ReceiveWorkRequest receive : receives) {
            far.postReceive(receive);
        }
        for (SendWorkRequest request : requests) {
            near.postSend(request);
        }
    }

    private void await() throws InterruptedException {
        for (int completed = 0; completed < COMPLETIONS_IN_A_ROUND; ) {
            int count = Spinning.await(queue, completions, LIMIT);
            if (count == 0) {
                throw new IllegalStateException("only " + completed + " of " + COMPLETIONS_IN_A_ROUND
                        + " completions arrived, and no other within " + LIMIT.toSeconds() + " s, in round "
                        + rounds);
            }
            for (int i = 0; i < count; i++) {
                if (!completions.succeeded(i)) {
                    throw new IllegalStateException(completions.describe(i) + ", in round " + rounds);
                }
            }
            completed += count;
        }
    }

    private void check() {
        for (int i = 0; i < OF_EACH_KIND; i++) {
            long place = i * (long) BYTES;
            boolean right = farMemory.get(JAVA_LONG, SENDS + place) == rounds
                    && farMemory.get(JAVA_LONG, WRITES + place) == rounds
                    && nearMemory.get(JAVA_LONG, READS + place) == rounds
                    // The value before the addition.
                    && nearMemory.get(JAVA_LONG, ATOMICS + place) == rounds
                    && farMemory.get(JAVA_LONG, ATOMICS + place) == rounds + 1;
            if (!right) {
                throw new IllegalStateException("the data of round " + rounds + " is corrupted");
            }
        }
    }

    /** Runs one more round with new data, and checks every byte. */
    void verify() throws InterruptedException {
        fill(nearMemory, SENDS, READS);
        fill(farMemory, READS, ATOMICS);
        run(1);
        long wrong = MemorySegment.mismatch(nearMemory, 0, ATOMICS, farMemory, 0, ATOMICS);
        if (wrong >= 0) {
            throw new IllegalStateException("byte " + wrong + " is wrong in round " + (rounds - 1));
        }
    }

    private void fill(MemorySegment memory, long from, long to) {
        for (long offset = from; offset < to; offset++) {
            memory.set(JAVA_BYTE, offset, (byte) (rounds * 31 + offset + offset / 251));
        }
    }

    /** Returns the number of operations so far. */
    long operations() {
        return rounds * OPERATIONS_IN_A_ROUND;
    }
}
