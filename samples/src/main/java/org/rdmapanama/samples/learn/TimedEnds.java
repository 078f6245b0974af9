package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_READ;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;
import static org.rdmapanama.samples.learn.Lesson.LIMIT;

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
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.samples.Failure;

/** What lesson 15 times: several connections of A and B, and a thread of B that answers. */
final class TimedEnds implements AutoCloseable {
    /** How many work requests are outstanding at most, and how many of them make a chain. */
    static final int DEPTH = 16;

    static final int CONNECTIONS = 4;

    static final int LARGEST = 64 << 10;
    static final int INLINE = 64;

    final VerbsArena arena;
    final ProtectionDomain domain;
    final MemorySegment unregistered;
    final MemoryRegion memoryOfA;
    final MemoryRegion memoryOfB;
    final QueuePair[] a = new QueuePair[CONNECTIONS];
    final QueuePair b;

    /** A's connection to the thread of B. */
    final QueuePair asking;

    final CompletionQueue queueOfA;
    final CompletionQueue queueOfB;
    private final CompletionQueue answers;
    private final WorkCompletions completions;
    private final SendWorkRequest question;
    private final ReceiveWorkRequest answer;
    private final Answering answering;

    /**
     * Connects them, and starts the thread of B.
     *
     * @param arena of any thread; must be closed after this
     */
    TimedEnds(VerbsArena arena, String device) {
        this.arena = arena;
        unregistered = arena.allocate(LARGEST, 8);
        completions = new WorkCompletions(arena, 2 * DEPTH);
        question = SendWorkRequest.allocate(arena, 1);
        Context context = Context.open(arena, device);
        domain = context.allocateProtectionDomain();
        memoryOfA = domain.register(arena.allocate(LARGEST, 8), LOCAL_WRITE);
        memoryOfB = domain.register(arena.allocate(LARGEST, 8), LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        queueOfA = context.createCompletionQueue(4 * DEPTH);
        queueOfB = context.createCompletionQueue(4 * DEPTH);
        QueuePair first = null;
        for (int i = 0; i < CONNECTIONS; i++) {
            a[i] = queuePair(queueOfA);
            QueuePair other = queuePair(queueOfB);
            connect(a[i], other);
            first = i == 0 ? other : first;
        }
        b = first;
        answers = context.createCompletionQueue(2 * DEPTH, context.createCompletionChannel(), 0);
        CompletionQueue questions = context.createCompletionQueue(2 * DEPTH, context.createCompletionChannel(), 0);
        asking = queuePair(answers);
        QueuePair asked = queuePair(questions);
        connect(asking, asked);
        answer = ReceiveWorkRequest.allocate(arena, 1).add(memoryOfA, 0, LARGEST);
        answering = new Answering(asked, questions, memoryOfB);
    }

    private QueuePair queuePair(CompletionQueue queue) {
        return domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(DEPTH)
                .maxReceiveWorkRequests(DEPTH)
                .maxInlineData(INLINE));
    }

    private static void connect(QueuePair one, QueuePair other) {
        one.connect(other.localEndpoint());
        other.connect(one.localEndpoint());
    }

    /** Polls a queue until it has had so many completions, all of which must be successes. */
    void poll(CompletionQueue queue, int count) {
        for (int seen = 0; seen < count; ) {
            int found = Polling.await(queue, completions);
            for (int i = 0; i < found; i++) {
                completions.check(i);
            }
            seen += found;
        }
    }

    /**
     * Sends B a question, and waits for the answer.
     *
     * @param bytes the size of the answer
     * @param polls how long A and B poll before they sleep
     */
    void ask(int bytes, Duration polls) throws InterruptedException {
        answering.polls = polls;
        asking.postReceive(answer);
        asking.postSend(question.clear()
                .sendWithImmediate(bytes)
                .add(memoryOfA, 0, INLINE)
                .signaled(true));
        for (int seen = 0; seen < 2; ) {
            int found = answers.await(completions, LIMIT, polls);
            if (found == 0) {
                throw new Failure("B did not answer within " + LIMIT.toSeconds() + " s");
            }
            for (int i = 0; i < found; i++) {
                completions.check(i);
            }
            seen += found;
        }
    }

    @Override
    public void close() {
        answering.close();
    }
}
