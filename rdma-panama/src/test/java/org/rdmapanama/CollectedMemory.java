package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.testing.Bound;

/**
 * Memory of an automatic arena, of which it can be told whether the collector has freed it. Nothing breaks where it has:
 * really it is of the global arena.
 */
final class CollectedMemory {

    private final AtomicBoolean freed = new AtomicBoolean();

    /** To be called once; this does not refer to it. */
    @SuppressWarnings("restricted")
    MemorySegment allocate(long byteSize) {
        AtomicBoolean mark = freed;
        return Arena.global().allocate(byteSize, 4096).reinterpret(Arena.ofAuto(), memory -> mark.set(true));
    }

    void assertFreed() throws InterruptedException {
        Bound bound = Bound.ofSeconds(30);
        while (!freed.get()) {
            bound.check("somebody still refers to the memory");
            System.gc();
            Thread.sleep(10);
        }
    }

    /** Other memory, to which nobody has referred for as long, was freed, and this was not. */
    void assertKept() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            CollectedMemory other = new CollectedMemory();
            other.allocate(8);
            other.assertFreed();
        }
        assertFalse(freed.get(), "the device may still use this memory");
    }
}
