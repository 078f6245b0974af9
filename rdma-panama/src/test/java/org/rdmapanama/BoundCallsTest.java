package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;

/** Calls of a bound thread, which it counts by plain stores, are known to a thread that closes the object. */
@Timeout(120)
class BoundCallsTest {
    private static final int OBJECTS = Integer.getInteger("bound.objects", 20_000);

    /** Where the JVM stops the other thread for each, which takes long on a busy machine. */
    private static final int OBJECTS_WITHOUT_BARRIER = 2_000;

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
                assertTrue(enterData() >= 0, "it was not counted as one of the bound thread");
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
    private long[] useEachUntilItIsClosed(int objects) {
        begun = true;
        long[] usedAndWrong = new long[2];
        Guarded last = null;
        for (int seen = 0; seen < objects; seen++) {
            Guarded before = last;
            Bound.ofSeconds(60).spin("no further object came", () -> current != before);
            Guarded object = current;
            object.bindToThread();
            Bound.ofSeconds(60).spin("the object was not closed", () -> !use(object, usedAndWrong));
            last = object;
        }
        return usedAndWrong;
    }

    /** Makes a call, and counts it and looks at a destroyed object in it; false if the object is closed. */
    private static boolean use(Guarded object, long[] usedAndWrong) {
        if (!object.tryEnter()) {
            return false;
        }
        for (int i = 0; i < LOOKS; i++) {
            usedAndWrong[1] += object.destroyed ? 1 : 0;
        }
        usedAndWrong[0]++;
        object.exitData(0);
        if (!object.used) {
            object.used = true;
        }
        return true;
    }

    @Test
    void shouldNotBeInACallWhenItIsShut() throws Exception {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        useAndShut(OBJECTS);
    }

    private void useAndShut(int objects) throws Exception {
        CompletableFuture<long[]> calls = Async.start(() -> useEachUntilItIsClosed(objects));
        Bound.usual().spin("the thread did not start", () -> begun);
        while (!calls.isDone()) {
            Guarded object = new Guarded(context);
            current = object;
            Bound.usual().spin("the object was not used", () -> object.used || calls.isDone());
            Bound.usual().spin("a call did not end", object::isShut);
            object.destroyed = true;
        }

        long[] result = Async.get(calls);
        assertTrue(result[0] >= objects, () -> "only " + result[0] + " uses");
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
        assertEquals(0, object.enterData());
        assertEquals(1, object.enterData());
        object.exitData(1);
        assertFalse(object.isShut());
        assertThrows(IllegalStateException.class, object::enterData);
        assertFalse(object.isShut());
        object.exitData(0);
        assertTrue(object.isShut());
        assertThrows(IllegalStateException.class, object::bindToThread);
    }

    @Test
    void shouldCountCallsFromBeforeTheBinding() {
        Guarded object = new Guarded(context);
        int unbound = object.enterData();
        assertTrue(unbound < 0);
        object.bindToThread();
        int second = object.enterData();
        assertEquals(AsymmetricBarrier.AVAILABLE, second >= 0);
        object.exitData(second);
        assertFalse(object.isShut());
        object.exitData(unbound);
        assertTrue(object.isShut());
    }

    /** In a process of its own, which is never allowed the call again. */
    @Test
    void shouldStaySafeWhenTheKernelRefusesTheBarrier() throws Exception {
        assumeTrue(AsymmetricBarrier.AVAILABLE, "membarrier(2) is missing or forbidden here");
        assumeTrue(System.getProperty("os.arch").equals("amd64"), "the numbers of system calls are those of amd64");
        try (Program alone = Program.java(List.of(), Refused.class)) {
            alone.assertSucceeds();
        }
    }

    /** As if a sandbox were closed while queues are in use. */
    static final class Refused {
        private static final int PR_SET_NO_NEW_PRIVS = 38;
        private static final int PR_SET_NO_NEW_PRIVS_CALL = 157;
        private static final int SECCOMP = 317;
        private static final int SET_MODE_FILTER = 1;
        private static final int ALL_THREADS = 1;
        private static final int MEMBARRIER = 324;
        private static final int QUERY = 0;

        private static final short LOAD_WORD = 0x20;
        private static final short JUMP_IF_EQUAL = 0x15;
        private static final short RETURN = 0x06;
        private static final int ALLOW = 0x7fff_0000;
        private static final int FAIL_WITH_EPERM = 0x5_0001;

        private Refused() {}

        @SuppressWarnings("restricted")
        private static long call(int number, long first, long second, long third) throws Throwable {
            MethodHandle syscall = Linker.nativeLinker()
                    .downcallHandle(
                            Linker.nativeLinker()
                                    .defaultLookup()
                                    .find("syscall")
                                    .orElseThrow(),
                            FunctionDescriptor.of(
                                    JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                            Linker.Option.firstVariadicArg(1));
            return (long) syscall.invokeExact((long) number, first, second, third, 0L, 0L);
        }

        private static void refuse() throws Throwable {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment filter = arena.allocate(32, 8);
                instruction(filter, 0, LOAD_WORD, 0, 0, 0);
                instruction(filter, 1, JUMP_IF_EQUAL, 0, 1, MEMBARRIER);
                instruction(filter, 2, RETURN, 0, 0, FAIL_WITH_EPERM);
                instruction(filter, 3, RETURN, 0, 0, ALLOW);
                MemorySegment program = arena.allocate(16, 8);
                program.set(JAVA_SHORT, 0, (short) 4);
                program.set(JAVA_LONG, 8, filter.address());
                assertEquals(0, call(PR_SET_NO_NEW_PRIVS_CALL, PR_SET_NO_NEW_PRIVS, 1, 0));
                assertEquals(0, call(SECCOMP, SET_MODE_FILTER, ALL_THREADS, program.address()));
            }
        }

        private static void instruction(
                MemorySegment filter, int place, short code, int then, int otherwise, int value) {
            long at = place * 8L;
            filter.set(JAVA_SHORT, at, code);
            filter.set(JAVA_BYTE, at + 2, (byte) then);
            filter.set(JAVA_BYTE, at + 3, (byte) otherwise);
            filter.set(JAVA_INT, at + 4, value);
        }

        public static void main(String... arguments) throws Throwable {
            assertTrue(AsymmetricBarrier.AVAILABLE);
            assertTrue(call(MEMBARRIER, QUERY, 0, 0) > 0);
            refuse();
            assertEquals(-1, call(MEMBARRIER, QUERY, 0, 0));
            new BoundCallsTest().useAndShut(OBJECTS_WITHOUT_BARRIER);
            new BoundCallsTest().shouldNotBeInABatchWhenItIsHeld();
            new BoundCallsTest().shouldCountNestedCalls();
        }
    }
}
