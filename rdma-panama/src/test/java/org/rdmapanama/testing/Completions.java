package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.WorkCompletions;

/** Waits for completions, in a bounded time. */
public final class Completions {
    private Completions() {}

    /** Polls until there is at least one completion in the batch. */
    public static WorkCompletions awaitAny(CompletionQueue queue, WorkCompletions batch) {
        return awaitAny(queue, batch, Bound.USUAL);
    }

    public static WorkCompletions awaitAny(CompletionQueue queue, WorkCompletions batch, Duration limit) {
        Bound.of(limit).spin(() -> "no completion came on " + queue, () -> queue.poll(batch) > 0);
        return batch;
    }

    /** As many completions as there must be, in their order; fails when they do not come, or when more come with them. */
    public static List<Completion> await(CompletionQueue queue, WorkCompletions batch, int count, Duration limit) {
        List<Completion> completions = new ArrayList<>();
        Bound.of(limit)
                .spin(
                        () -> "only " + completions.size() + " of " + count + " completions came on " + queue + ": "
                                + completions,
                        () -> {
                            if (completions.size() < count) {
                                completions.addAll(poll(queue, batch));
                            }
                            return completions.size() >= count;
                        });
        assertEquals(count, completions.size(), () -> "too many completions: " + completions);
        return completions;
    }

    /** What there is now, up to the size of the batch. */
    public static List<Completion> poll(CompletionQueue queue, WorkCompletions batch) {
        List<Completion> completions = new ArrayList<>();
        int count = queue.poll(batch);
        for (int i = 0; i < count; i++) {
            completions.add(Completion.of(batch, i));
        }
        return completions;
    }
}
