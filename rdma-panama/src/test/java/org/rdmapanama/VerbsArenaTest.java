package org.rdmapanama;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.rdmapanama.internal.provider.ProviderDevice;

class VerbsArenaTest {
    @Test
    void shouldAllocateZeroedAlignedMemory() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            MemorySegment memory = arena.allocate(10_000, 4096);
            assertEquals(0, memory.address() % 4096);
            assertEquals(-1, memory.mismatch(MemorySegment.ofArray(new byte[10_000])));
            assertEquals(arena.scope(), memory.scope());
        }
    }

    @Test
    void shouldFreeItsMemory() {
        VerbsArena arena = VerbsArena.ofShared();
        MemorySegment memory = arena.allocate(8);
        arena.close();
        arena.close();
        assertFalse(arena.scope().isAlive());
        assertThrows(IllegalStateException.class, () -> memory.get(ValueLayout.JAVA_BYTE, 0));
        assertThrows(IllegalStateException.class, () -> arena.allocate(8));
    }

    @Test
    void shouldBeConfinedToItsThread() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined();
                ExecutorService other = Executors.newSingleThreadExecutor()) {
            for (Runnable use : new Runnable[] {() -> arena.allocate(8), arena::close}) {
                ExecutionException exception = assertThrows(
                        ExecutionException.class, () -> other.submit(use).get(10, TimeUnit.SECONDS));
                assertInstanceOf(WrongThreadException.class, exception.getCause());
            }
        }
    }

    @Test
    void shouldBeSharedByAllThreads() throws Exception {
        try (ExecutorService other = Executors.newSingleThreadExecutor()) {
            VerbsArena arena = VerbsArena.ofShared();
            MemorySegment memory = arena.allocate(8);
            other.submit(() -> memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 3)).get(10, TimeUnit.SECONDS);
            assertEquals(3, memory.get(ValueLayout.JAVA_BYTE, 0));
            other.submit(arena::close).get(10, TimeUnit.SECONDS);
            assertFalse(memory.scope().isAlive());
        }
    }

    @Test
    void shouldFreeMemoryThatWasInUseWhenItIsClosedAgain() throws Throwable {
        VerbsArena arena = VerbsArena.ofShared();
        MemorySegment memory = arena.allocate(2);
        List<Throwable> thrown = new ArrayList<>();
        whileACallUses(memory, () -> {
            try {
                arena.close();
            } catch (IllegalStateException e) {
                thrown.add(e);
            }
        });
        assertEquals(1, thrown.size(), "a call was using the memory, and the arena closed");
        assertTrue(memory.scope().isAlive());
        assertThrows(IllegalStateException.class, () -> Context.open(arena, deviceThatIsNeverOpened()));

        arena.close();
        assertFalse(memory.scope().isAlive());
    }

    /** qsort(3) of two bytes compares them once, and calls back to do so. */
    @SuppressWarnings("restricted")
    private static void whileACallUses(MemorySegment twoBytes, Runnable task) throws Throwable {
        FunctionDescriptor comparator = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
        MethodHandle run = MethodHandles.lookup()
                .findVirtual(Runnable.class, "run", MethodType.methodType(void.class))
                .bindTo(task);
        MethodHandle compare = MethodHandles.filterReturnValue(run, MethodHandles.constant(int.class, 0));
        MethodHandle target = MethodHandles.dropArguments(compare, 0, MemorySegment.class, MemorySegment.class);
        Linker linker = Linker.nativeLinker();
        MethodHandle qsort = linker.downcallHandle(
                linker.defaultLookup().find("qsort").orElseThrow(),
                FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
        try (Arena stubs = Arena.ofConfined()) {
            qsort.invokeExact(twoBytes, 2L, 1L, linker.upcallStub(target, comparator, stubs));
        }
    }

    private static Device deviceThatIsNeverOpened() {
        return new Device(new ProviderDevice(null, "none", 1, 0, 0, -1, ""));
    }

    @Test
    void shouldRefuseSillySizes() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThrows(IllegalArgumentException.class, () -> arena.allocate(-1, 8));
            assertThrows(IllegalArgumentException.class, () -> arena.allocate(8, 3));
        }
    }

    @Test
    void shouldPrintItself() {
        VerbsArena arena = VerbsArena.ofConfined();
        assertTrue(arena.toString().startsWith("arena confined to " + Thread.currentThread()), arena::toString);
        arena.close();
        assertTrue(arena.toString().endsWith(" is closed"), arena::toString);
        IllegalStateException exception = assertThrows(IllegalStateException.class, () -> arena.allocate(8));
        assertTrue(exception.getMessage().endsWith(" is closed; allocate from another arena"), exception::getMessage);
        try (VerbsArena shared = VerbsArena.ofShared()) {
            assertEquals("shared arena with open devices []", shared.toString());
        }
    }
}
