package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** Calls of a bound thread, which it counts by plain stores, are known to a thread that closes the object. */
@Timeout(120)
class BoundCallsTest {
    private static final int OBJECTS = 20_000;
    private static final int HOLDS = 1_000;

    /** How often a call looks at its object: for longer than a store takes to become visible. */
    private static final int LOOKS = 200;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = FakeDriver.create().open(arena);

    /** An object that is destroyed when no call is in progress. */
    private static final class Guarded extends QueueObject {
        final Batch batch = new Batch(this, "end()", () -> true, () -> {});
        volatile boolean used;
        volatile boolean destroyed;

        /** Whether another thread keeps batches from beginning. */
        volatile boolean held;

        Guarded(Context context) {
            super(context, 0);
        }

        /** Returns whether no call is in progress, as a closing asks. */
        boolean isShut() {
            arena.lock().lock();
            try {
                return shut();
            } finally {
                arena.lock().unlock();
            }
        }

        /** Begins a call; false if this is closed. */
        boolean tryEnter() {
            try {
                assertTrue(enterData(), "it was not counted as one of the bound thread");
                return true;
            } catch (IllegalStateException closed) {
                return false;
            }
        }

        @Override
        Ending ending() {
            throw new AssertionError("it has no native object");
        }

        @Override
        int closingOrder() {
            return 0;
        }

        @Override
        public String toString() {
            return "guarded object";
        }
    }

    /** Both threads write here, so that the stores of each that follow wait for long until they become visible. */
    private final int[] contended = new int[1];

    private volatile boolean begun;
    private volatile Guarded current;

    /** Returns how often an object was used, and how often after it was destroyed. */
    @SuppressWarnings("ReferenceEquality") // objects are compared by identity
    private long[] useEachUntilItIsClosed() {
        begun = true;
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
            object.bindToThread();
            while (object.tryEnter()) {
                for (int i = 0; i < LOOKS; i++) {
                    wrong += object.destroyed ? 1 : 0;
                }
                used++;
                object.exitData(true);
                if (!object.used) {
                    object.used = true;
                }
            }
            last = object;
        }
        return new long[] {used, wrong};
    }

    @Test
    void shouldNotBeInACallWhenItIsShut() throws Exception {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        CompletableFuture<long[]> calls = Async.start(this::useEachUntilItIsClosed);
        Bound.usual().spin("the thread did not start", () -> begun);
        while (!calls.isDone()) {
            Guarded object = new Guarded(context);
            current = object;
            Bound.usual().spin("the object was not used", () -> object.used || calls.isDone());
            Bound.usual().spin("a call did not end", object::isShut);
            object.destroyed = true;
        }

        long[] result = Async.get(calls);
        assertTrue(result[0] >= OBJECTS, () -> "only " + result[0] + " uses");
        assertEquals(0, result[1], () -> "uses of destroyed objects, of " + result[0]);
    }

    /** Returns how many batches there were, and how often the queue was held in one. */
    private long[] useInBatches(Guarded object) {
        object.bindToThread();
        begun = true;
        long wrong = 0;
        long batches = 0;
        while (true) {
            contended[0] = 1;
            assertTrue(object.batch.open(), "no batch is open");
            for (int i = 0; i < LOOKS; i++) {
                wrong += object.held ? 1 : 0;
            }
            batches++;
            boolean last = object.destroyed;
            object.batch.end();
            if (!object.used) {
                object.used = true;
            }
            if (last) {
                break;
            }
        }
        return new long[] {batches, wrong};
    }

    @Test
    void shouldNotBeInABatchWhenItIsHeld() throws Exception {
        Guarded object = new Guarded(context);
        CompletableFuture<long[]> batches = Async.start(() -> useInBatches(object));
        Bound.usual().spin("the thread did not start", () -> begun);
        Bound bound = Bound.ofSeconds(60);
        for (int i = 0; i < HOLDS; i++) {
            // Once the other thread takes its batches without waiting.
            object.used = false;
            Bound.usual().spin("the queue was not used", () -> object.used || batches.isDone());
            while (!object.batch.tryHold()) {
                bound.check("the queue was always in use");
                contended[0] = 2;
            }
            object.held = true;
            for (int look = 0; look < LOOKS; look++) {
                Thread.onSpinWait();
            }
            object.held = false;
            object.batch.unhold();
        }
        object.destroyed = true;

        long[] result = Async.get(batches);
        assertTrue(result[0] > 0, "no batch");
        assertEquals(0, result[1], () -> "looks at a queue that was held, in " + result[0] + " batches");
    }

    @Test
    void shouldCountNestedCalls() {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        Guarded object = new Guarded(context);
        object.bindToThread();
        assertTrue(object.enterData());
        assertTrue(object.enterData());
        object.exitData(true);
        assertFalse(object.isShut());
        assertThrows(IllegalStateException.class, object::enterData);
        assertFalse(object.isShut());
        object.exitData(true);
        assertTrue(object.isShut());
        assertThrows(IllegalStateException.class, object::bindToThread);
    }

    @Test
    void shouldCountCallsFromBeforeTheBinding() {
        Guarded object = new Guarded(context);
        boolean ofBoundThread = object.enterData();
        assertFalse(ofBoundThread);
        object.bindToThread();
        assertEquals(AsymmetricBarrier.AVAILABLE, object.enterData());
        object.exitData(AsymmetricBarrier.AVAILABLE);
        assertFalse(object.isShut());
        object.exitData(ofBoundThread);
        assertTrue(object.isShut());
    }
}
