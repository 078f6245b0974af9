package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_ATOMIC;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.samples.Failure;

/** The starting point of most lessons: two connected queue pairs, each with a completion queue and memory. */
final class TwoEnds implements AutoCloseable {
    // excerpt
    final VerbsArena arena = VerbsArena.ofConfined();
    final Context context = Context.open(arena, "soft0");
    final ProtectionDomain domain = context.allocateProtectionDomain();
    final CompletionChannel channelOfA = context.createCompletionChannel();
    final CompletionChannel channelOfB = context.createCompletionChannel();
    final CompletionQueue queueOfA = context.createCompletionQueue(16, channelOfA, 0);
    final CompletionQueue queueOfB = context.createCompletionQueue(16, channelOfB, 0);
    final QueuePair a = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queueOfA).maxSegments(2, 1));
    final QueuePair b = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queueOfB).maxSegments(2, 1));
    final MemoryRegion memoryOfA = domain.register(arena.allocate(4096, 8), LOCAL_WRITE);
    final MemoryRegion memoryOfB =
            domain.register(arena.allocate(4096, 8), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC);

    TwoEnds(Board board, String nameOfA, String nameOfB, ConnectOptions options) {
        options.pathMtu(Mtu.BYTES_1024);
        a.localEndpoint(options);
        b.localEndpoint(options);
        a.connect(b.localEndpoint());
        b.connect(a.localEndpoint());
        board.draw(nameOfA, a, nameOfB, b);
    }

    // end

    private final WorkCompletions completions = new WorkCompletions(arena, 1);
    private int takenOfA;
    private int takenOfB;

    /** Creates A and B. Packets are retransmitted after four seconds, too late to show up in a lesson. */
    TwoEnds(Board board) {
        this(board, "A", "B", new ConnectOptions().timeout(20));
    }

    /** Waits for the next completion of a queue. The result is valid until the next call. */
    WorkCompletions await(CompletionQueue queue) throws InterruptedException {
        if (queue.await(completions, LIMIT) == 0) {
            throw new Failure(noCompletion(queue));
        }
        takenOfA += queue == queueOfA ? 1 : 0;
        takenOfB += queue == queueOfB ? 1 : 0;
        return completions;
    }

    /** Says what is known when a queue has no completion. The device does not tell what was posted. */
    String noCompletion(CompletionQueue queue) {
        String name = queue == queueOfA ? "queueOfA" : queue == queueOfB ? "queueOfB" : queue.toString();
        return "no completion came to " + name + " within " + LIMIT.toSeconds() + " s, after " + takenOfA
                + " from queueOfA and " + takenOfB + " from queueOfB; a is " + state(a) + ", and b is " + state(b)
                + ". A send completes if it is signaled or fails, and a receive when a message arrives";
    }

    private static String state(QueuePair queuePair) {
        try {
            return "in state " + queuePair.query(QueuePairAttribute.STATE).state();
        } catch (IllegalStateException closed) {
            return "closed";
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
