package org.rdmapanama.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How a pool divides its memory; no device is needed for that. */
class BlockAllocatorTest {
    private static final long BASE = 0x7000_0000L;
    private static final int GRAIN = BlockAllocator.GRAIN;

    private record Taken(BlockAllocator.Block block, long offset, long byteSize) {
        int firstGrain() {
            return (int) (offset / GRAIN);
        }

        int endGrain() {
            return (int) ((offset + byteSize + GRAIN - 1) / GRAIN);
        }
    }

    @Test
    void shouldHandOutEverything() {
        BlockAllocator allocator = new BlockAllocator(BASE, 1000 * GRAIN);
        List<BlockAllocator.Block> blocks = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            assertEquals((1000L - i) * GRAIN, allocator.freeBytes());
            blocks.add(assertNotNullBlock(allocator.allocate(1 + i % GRAIN, 1)));
        }
        assertNull(allocator.allocate(1, 1));
        assertEquals(0, allocator.freeBytes());
        assertEquals(0, allocator.largestFree());
        Collections.shuffle(blocks, new Random(1));
        blocks.forEach(allocator::free);
        assertEquals(1000L * GRAIN, allocator.largestFree());
        assertEquals(0, allocator.offsetOf(allocator.allocate(1000L * GRAIN, 1)));
    }

    private static BlockAllocator.Block assertNotNullBlock(BlockAllocator.Block block) {
        assertNotNull(block);
        return block;
    }

    @Test
    void shouldFindABlockOfJustTheSize() {
        // Sizes whose list also holds smaller ones.
        for (long size : new long[] {17, 33, 35, 1000, 1023, 4097}) {
            BlockAllocator allocator = new BlockAllocator(BASE, size * GRAIN);
            assertNotNull(allocator.allocate(size * GRAIN, 1), () -> size + " grains");
        }
    }

    @Test
    void shouldAlignAddressesAndNotOffsets() {
        long base = BASE + 100;
        BlockAllocator allocator = new BlockAllocator(base, 1 << 20);
        for (long alignment = 1; alignment <= 65536; alignment *= 2) {
            BlockAllocator.Block block = allocator.allocate(10, alignment);
            assertEquals(0, (base + allocator.offsetOf(block)) % alignment, "alignment " + alignment);
            assertTrue(allocator.offsetOf(block) >= 0);
            assertEquals(0, (base + allocator.offsetOf(block)) % GRAIN);
        }
    }

    @Test
    void shouldFindTheOnlyAlignedPlace() {
        BlockAllocator allocator = new BlockAllocator(BASE + GRAIN, 64 * GRAIN);
        // Grain 63 is the only one at a page's beginning, and the last.
        BlockAllocator.Block block = allocator.allocate(1, 4096);
        assertEquals(63L * GRAIN, allocator.offsetOf(block));
        assertNull(allocator.allocate(1, 4096));
        assertEquals(63L * GRAIN, allocator.largestFree());
    }

    @Test
    void shouldBearEdges() {
        assertNull(new BlockAllocator(BASE, GRAIN - 1).allocate(1, 1));
        assertNull(new BlockAllocator(BASE + 1, GRAIN).allocate(1, 1));
        BlockAllocator huge = new BlockAllocator(BASE, 1L << 50);
        assertNull(huge.allocate(Long.MAX_VALUE, 1));
        assertNull(huge.allocate(1, 1L << 62));
        BlockAllocator.Block most = huge.allocate(1L << 50, 1);
        assertNotNull(most);
        huge.free(most);
        assertEquals(1L << 50, huge.largestFree());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void shouldNeverOverlapAndMergeAgain(long seed) {
        Random random = new Random(seed);
        long bytes = (1L << 20) + random.nextInt(5000);
        long base = BASE + random.nextInt(300);
        BlockAllocator allocator = new BlockAllocator(base, bytes);
        long all = allocator.freeBytes();
        assertEquals(all, allocator.largestFree());
        List<Taken> taken = new ArrayList<>();
        BitSet grains = new BitSet();
        long origin = -base & (GRAIN - 1);
        for (int step = 0; step < 20_000; step++) {
            if (taken.isEmpty() || random.nextInt(100) < 55) {
                long size = 1L + (random.nextBoolean() ? random.nextInt(300) : random.nextInt(30_000));
                long alignment = 1L << random.nextInt(14);
                BlockAllocator.Block block = allocator.allocate(size, alignment);
                if (block == null) {
                    assertTrue(hasNoRoom(grains, (int) (all / GRAIN), base + origin, size, alignment));
                    continue;
                }
                Taken it = new Taken(block, allocator.offsetOf(block) - origin, size);
                assertEquals(0, (base + allocator.offsetOf(block)) % Math.max(alignment, GRAIN));
                assertTrue(it.endGrain() * (long) GRAIN <= all, "behind the end");
                assertTrue(grains.get(it.firstGrain(), it.endGrain()).isEmpty(), "taken twice");
                grains.set(it.firstGrain(), it.endGrain());
                taken.add(it);
            } else {
                Taken it = taken.remove(random.nextInt(taken.size()));
                allocator.free(it.block());
                grains.clear(it.firstGrain(), it.endGrain());
            }
            assertEquals(all - (long) grains.cardinality() * GRAIN, allocator.freeBytes());
            if (step % 100 == 0) {
                assertEquals(largestGap(grains, (int) (all / GRAIN)) * GRAIN, allocator.largestFree());
            }
        }
        taken.forEach(it -> allocator.free(it.block()));
        assertEquals(all, allocator.largestFree());
        assertEquals(all, allocator.freeBytes());
    }

    /** Whether it is true that nothing fits. */
    private static boolean hasNoRoom(BitSet grains, int count, long base, long size, long alignment) {
        long needed = (size + GRAIN - 1) / GRAIN;
        for (int start = 0; start + needed <= count; start++) {
            if ((base + (long) start * GRAIN) % Math.max(alignment, GRAIN) == 0
                    && grains.get(start, (int) (start + needed)).isEmpty()) {
                return false;
            }
        }
        return true;
    }

    private static long largestGap(BitSet grains, int count) {
        long largest = 0;
        for (int start = grains.nextClearBit(0); start < count; start = grains.nextClearBit(start)) {
            int end = grains.nextSetBit(start);
            end = end < 0 ? count : end;
            largest = Math.max(largest, end - start);
            start = end;
        }
        return largest;
    }
}
