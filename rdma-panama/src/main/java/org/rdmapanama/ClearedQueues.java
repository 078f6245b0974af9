package org.rdmapanama;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;

/**
 * The completion queues that something reports to. When it comes, goes, or starts anew, a driver may lock them, to note
 * it there or to clear them of its completions: no batch may be open on them then.
 *
 * <p>A call takes all queues that it needs or none, and waits with nothing taken: the thread whose batch it waits for may
 * need any of them.
 */
final class ClearedQueues {
    /** Of what reports to none. */
    static final ClearedQueues NONE = new ClearedQueues(new CompletionQueue[0]);

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final CompletionQueue[] queues;

    private ClearedQueues(CompletionQueue[] queues) {
        this.queues = queues;
    }

    /** Of queues that may be the same, or null. */
    static ClearedQueues of(CompletionQueue... queues) {
        List<CompletionQueue> different = new ArrayList<>(queues.length);
        for (CompletionQueue queue : queues) {
            if (queue != null && !different.contains(queue)) {
                different.add(queue);
            }
        }
        different.sort(Comparator.comparingLong(queue -> queue.address));
        return new ClearedQueues(different.toArray(CompletionQueue[]::new));
    }

    /** For {@link VerbsObject#holdBatches}. */
    void hold(Closing closing) {
        for (CompletionQueue queue : queues) {
            queue.holdForClearing(closing);
        }
    }

    /**
     * Makes a call in which the queues may be locked, and into which no batch of the reporting object itself may fall.
     *
     * @param reporting what the call is about, which has been entered
     * @throws IllegalStateException when a batch of another thread did not end in time, or something closes
     */
    <T> T call(ContextObject reporting, Supplier<T> verb) {
        try (Turn turn = new Turn(reporting)) {
            while (true) {
                CompletionQueue busy;
                reporting.beginCall();
                try {
                    busy = begin();
                    if (busy == null) {
                        return ending(verb);
                    }
                } finally {
                    reporting.endCall();
                }
                turn.await(busy);
            }
        }
    }

    /**
     * Makes something that will report to the queues, with a lock held that is not held while this waits.
     *
     * @param parent what it will belong to
     * @throws IllegalStateException when a batch of another thread did not end in time, or something closes
     */
    <T> T create(ContextObject parent, Lock lock, Supplier<T> maker) {
        try (Turn turn = new Turn(parent)) {
            while (true) {
                CompletionQueue busy;
                lock.lock();
                try {
                    busy = begin();
                    if (busy == null) {
                        return ending(maker);
                    }
                } finally {
                    lock.unlock();
                }
                turn.await(busy);
            }
        }
    }

    /** Takes all queues, or none and says which one is in use. */
    private CompletionQueue begin() {
        // All of them first: a thread that this one waits for may wait for this one.
        for (CompletionQueue queue : queues) {
            queue.pauseOwnBatch();
        }
        for (int i = 0; i < queues.length; i++) {
            if (!queues[i].tryBeginClearing()) {
                end(i);
                return queues[i];
            }
        }
        return null;
    }

    private <T> T ending(Supplier<T> verb) {
        try {
            return verb.get();
        } finally {
            end(queues.length);
        }
    }

    private void end(int begun) {
        for (int i = begun - 1; i >= 0; i--) {
            queues[i].endClearing();
        }
    }

    /** The wait for a turn, in which the queues found in use are marked as wanted. */
    private static final class Turn implements AutoCloseable {
        private final ContextObject reporting;
        private final Set<Batch> wanted = new LinkedHashSet<>();
        private BatchWait wait;

        Turn(ContextObject reporting) {
            this.reporting = reporting;
        }

        void await(CompletionQueue busy) {
            // A closing of it has the queues held, and waits for this call.
            reporting.checkOpen();
            busy.checkOpen();
            if (wait == null) {
                wait = new BatchWait(reporting.arena);
            }
            Batch batch = busy.batch();
            if (batch.isOpen() && wait.nanos() > LIMIT_NANOS) {
                throw new IllegalStateException(
                        "another thread has a batch open on " + busy + ": it must call " + batch.ending() + " first");
            }
            wanted.add(batch);
            wanted.forEach(Batch::want);
            wait.pause();
        }

        @Override
        public void close() {
            wanted.forEach(Batch::unwant);
            if (wait != null) {
                wait.close();
            }
        }
    }
}
