package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** Calls that are counted by plain stores are known to whoever ends them. */
@Timeout(120)
class ThreadCallsTest {
    private static final int OBJECTS = 20_000;

    /** How often a call looks at its object: for longer than a store takes to become visible. */
    private static final int LOOKS = 200;

    /** What stands for an object that is destroyed when no call is in progress. */
    private static final class Guarded {
        final ThreadCalls calls;
        volatile boolean used;
        volatile boolean destroyed;

        Guarded(Thread thread) {
            calls = new ThreadCalls(thread);
        }
    }

    private volatile Thread caller;
    private volatile Guarded current;

    /** Returns how often an object was used, and how often after it was destroyed. */
    @SuppressWarnings("ReferenceEquality") // objects are compared by identity
    private long[] useEachUntilItEnds() {
        caller = Thread.currentThread();
        long used = 0;
        long wrong = 0;
        Guarded last = null;
        Bound bound = Bound.ofSeconds(60);
        for (int seen = 0; seen < OBJECTS; seen++) {
            Guarded object = current;
            while (object == last) {
                bound.check("no further object came");
                object = current;
            }
            while (object.calls.tryEnter()) {
                for (int i = 0; i < LOOKS; i++) {
                    wrong += object.destroyed ? 1 : 0;
                }
                used++;
                object.calls.exit();
                if (!object.used) {
                    object.used = true;
                }
            }
            last = object;
        }
        return new long[] {used, wrong};
    }

    @Test
    void shouldNotBeInACallWhenTheyHaveEnded() throws Exception {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        CompletableFuture<long[]> calls = Async.start(this::useEachUntilItEnds);
        Bound.usual().spin("the thread did not start", () -> caller != null);
        while (!calls.isDone()) {
            Guarded object = new Guarded(caller);
            current = object;
            Bound.usual().spin("the object was not used", () -> object.used || calls.isDone());
            Bound.usual().spin("a call did not end", object.calls::end);
            object.destroyed = true;
        }

        long[] result = Async.get(calls);
        assertTrue(result[0] >= OBJECTS, () -> "only " + result[0] + " uses");
        assertEquals(0, result[1], () -> "uses of destroyed objects, of " + result[0]);
    }

    @Test
    void shouldCountNestedCalls() {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        ThreadCalls calls = new ThreadCalls(Thread.currentThread());
        assertTrue(calls.tryEnter());
        assertTrue(calls.tryEnter());
        calls.exit();
        assertTrue(calls.isInside());
        assertFalse(calls.end());
        assertFalse(calls.tryEnter());
        calls.exit();
        assertFalse(calls.isInside());
        assertTrue(calls.end());
    }
}
