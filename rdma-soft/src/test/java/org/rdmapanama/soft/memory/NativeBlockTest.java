package org.rdmapanama.soft.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Memory that is given back in locks. */
class NativeBlockTest {
    private static final int BLOCKS = 100;
    private static final long COPIED = 128L << 20;

    /** Far less than it takes when each waits for the end of a copy, and more than on the slowest machine otherwise. */
    private static final long LIMIT_NANOS = 500_000_000L;

    @Test
    void shouldBeZeroAndAligned() {
        for (int i = 0; i < BLOCKS; i++) {
            NativeBlock block = new NativeBlock(8L * i + 8);
            assertEquals(0, block.address() % 64);
            for (int at = 0; at <= i; at++) {
                assertEquals(0, Memory.getLong(block.address() + 8L * at));
                Memory.putLong(block.address() + 8L * at, -1);
            }
            block.free();
        }
    }

    @Test
    void shouldBeFreedOnce() {
        NativeBlock block = new NativeBlock(8);
        block.free();
        assertThrows(IllegalStateException.class, block::free);
    }

    @Test
    void shouldWaitForNoOtherThread() throws InterruptedException {
        NativeBlock[] blocks = new NativeBlock[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = new NativeBlock(64);
        }
        AtomicBoolean done = new AtomicBoolean();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment one = arena.allocate(COPIED);
            MemorySegment other = arena.allocate(COPIED);
            one.copyFrom(other);
            Thread busy = new Thread(() -> {
                while (!done.get()) {
                    one.copyFrom(other);
                }
            });
            busy.start();
            Thread.sleep(50);
            long start = System.nanoTime();
            for (NativeBlock each : blocks) {
                each.free();
            }
            long taken = System.nanoTime() - start;
            done.set(true);
            busy.join();
            assertTrue(taken < LIMIT_NANOS, () -> taken + " ns");
        }
    }
}
