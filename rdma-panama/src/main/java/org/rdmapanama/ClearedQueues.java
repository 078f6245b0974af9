package org.rdmapanama;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The completion queues that an object reports to. When the object is created, destroyed or reset, a driver may lock
 * them to register the object or to remove its completions. No batch may be open on them then.
 *
 * <p>A call takes all queues that it needs or none, and holds none while it waits, because the thread whose batch it
 * waits for may need any of them.
 */
final class ClearedQueues {
    /** The queues of an object that reports to none. */
    static final ClearedQueues NONE = new ClearedQueues(new CompletionQueue[0]);

    private final CompletionQueue[] queues;

    private ClearedQueues(CompletionQueue[] queues) {
        this.queues = queues;
    }

    /** Combines queues that may be equal or null. */
    static ClearedQueues of(@Nullable CompletionQueue... queues) {
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
     * Makes a call in which the queues may be locked, and which no batch of the reporting object may overlap.
     *
     * @param reporting the object of the call, which has been entered
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
     * Creates an object that will report to the queues, holding a lock that is released while this waits.
     *
     * @param parent the object that the new one will belong to
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

    /** Takes all queues and returns null, or takes none and returns one that is in use. */
    private @Nullable CompletionQueue begin() {
        // Release all of them first, because a thread that this one waits for may wait for this one.
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

    /** The wait for a turn. */
    private final class Turn implements AutoCloseable {
        private final ContextObject reporting;
        private final WantedQueues wanted;
        private @Nullable BatchWait wait;

        Turn(ContextObject reporting) {
            this.reporting = reporting;
            wanted = new WantedQueues(reporting.arena.waitLimits());
        }

        void await(CompletionQueue busy) {
            // A closing of the object holds the queues and waits for this call.
            reporting.checkOpen();
            if (wait == null) {
                wait = new BatchWait(reporting.arena);
            }
            wanted.look(System.nanoTime());
            for (CompletionQueue queue : queues) {
                queue.checkOpen();
                Batch batch = queue.batch();
                if (batch != null) {
                    batch.checkNotClearing();
                }
                if (batch != null && !batch.finishIfAbandoned()) {
                    // The queue that was in use is still needed, even if it is free by now.
                    if (queue == busy || batch.isInUse()) {
                        wanted.found(batch, batch.isOpen());
                    }
                }
            }
            Batch endless = wanted.withEndlessBatch();
            if (endless != null) {
                throw new IllegalStateException("another thread has a batch open on " + endless + "; it must call "
                        + endless.ending() + " first");
            }
            wanted.mark();
            wait.pause();
        }

        @Override
        public void close() {
            wanted.close();
            if (wait != null) {
                wait.close();
            }
        }
    }
}
