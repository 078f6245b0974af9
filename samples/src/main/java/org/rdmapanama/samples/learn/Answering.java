package org.rdmapanama.samples.learn;

import static org.rdmapanama.samples.learn.Lesson.LIMIT;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;

/** A thread of B that answers each message with as many bytes as its immediate value says. */
final class Answering implements AutoCloseable {
    private static final int MESSAGE = 64;
    private static final int RECEIVES = 2;

    /** How long the thread polls before it sleeps. */
    volatile Duration polls = Duration.ZERO;

    private final QueuePair queuePair;
    private final CompletionQueue queue;
    private final MemoryRegion memory;
    private final WorkCompletions completions;
    private final ReceiveWorkRequest receive;
    private final SendWorkRequest send;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();

    /** Begins to answer. */
    Answering(QueuePair queuePair, CompletionQueue queue, MemoryRegion memory) {
        this.queuePair = queuePair;
        this.queue = queue;
        this.memory = memory;
        completions = new WorkCompletions(queue, RECEIVES);
        receive = ReceiveWorkRequest.allocate(queuePair, 1).add(memory, 0, MESSAGE);
        send = SendWorkRequest.allocate(queuePair, 1);
        for (int i = 0; i < RECEIVES; i++) {
            queuePair.postReceive(receive);
        }
        thread.execute(this::run);
    }

    private void run() {
        try {
            while (true) {
                int found = queue.await(completions, LIMIT, polls);
                for (int i = 0; i < found; i++) {
                    completions.check(i);
                    if (completions.hasImmediate(i)) {
                        queuePair.postReceive(receive);
                        queuePair.postSend(send.clear()
                                .send()
                                .add(memory, 0, completions.immediate(i))
                                .signaled(true));
                    }
                }
            }
        } catch (InterruptedException e) {
            // A has no more questions.
        }
    }

    /** Ends the thread, and waits until it has ended. */
    @Override
    public void close() {
        thread.shutdownNow();
        thread.close();
    }
}
