package org.rdmapanama.pool;

import org.jspecify.annotations.Nullable;

/**
 * Divides a range of bytes into blocks, without touching the bytes. It uses a two-level segregated fit: free blocks are
 * kept in lists by size, sixteen for each power of two, and bits say which lists are not empty. A freed block merges
 * with its neighbours. Allocating and freeing take a few steps each, regardless of the number of blocks.
 *
 * <p>Threads: one at a time.
 */
final class BlockAllocator {
    /** Blocks begin at multiples of this size, a cache line, and their sizes are multiples of it. */
    static final int GRAIN = 64;

    private static final int SUBCLASS_BITS = 4;
    private static final int SUBCLASSES = 1 << SUBCLASS_BITS;
    private static final int CLASSES = Long.SIZE - SUBCLASS_BITS;

    /** A run of grains. Its neighbours in memory are known, so that it can merge with them. */
    static final class Block {
        private long start;
        private long grains;
        private boolean free;
        private @Nullable Block before;
        private @Nullable Block after;
        private @Nullable Block previousFree;
        private @Nullable Block nextFree;

        private Block(long start, long grains) {
            this.start = start;
            this.grains = grains;
        }
    }

    /** The index of the first grain in the range. */
    private final long origin;

    private final long base;
    private final long grains;
    private final Block[] heads = new Block[CLASSES * SUBCLASSES];
    private long classesInUse;
    private final int[] subclassesInUse = new int[CLASSES];
    private long freeGrains;

    /**
     * Creates an allocator with one free block.
     *
     * @param base address of the range, to which alignments refer
     * @param byteSize of the range
     */
    BlockAllocator(long base, long byteSize) {
        origin = -base & (GRAIN - 1);
        this.base = base;
        grains = Math.max(0, byteSize - origin) / GRAIN;
        if (grains > 0) {
            link(new Block(0, grains));
        }
        freeGrains = grains;
    }

    /**
     * Allocates a block.
     *
     * @param byteSize at least 1
     * @param alignment a power of two
     * @return the block, or null when none is large enough
     */
    @Nullable
    Block allocate(long byteSize, long alignment) {
        // This is larger than the whole range; checking it first avoids overflow.
        if (byteSize > grains * GRAIN || alignment > Long.MAX_VALUE / 2) {
            return null;
        }
        long wanted = (byteSize + GRAIN - 1) / GRAIN;
        Block block = find(wanted, alignment);
        if (block == null) {
            return null;
        }
        unlink(block);
        long gap = gap(block, alignment);
        if (gap > 0) {
            Block front = block;
            block = split(front, gap);
            link(front);
        }
        if (block.grains > wanted) {
            link(split(block, wanted));
        }
        freeGrains -= wanted;
        return block;
    }

    /** Frees an allocated block. */
    void free(Block block) {
        freeGrains += block.grains;
        Block whole = block;
        if (whole.before != null && whole.before.free) {
            Block before = whole.before;
            unlink(before);
            join(before, whole);
            whole = before;
        }
        if (whole.after != null && whole.after.free) {
            unlink(whole.after);
            join(whole, whole.after);
        }
        link(whole);
    }

    /** The offset of a block in the range, in bytes. */
    long offsetOf(Block block) {
        return origin + block.start * GRAIN;
    }

    /** The total size of all free blocks, in bytes. */
    long freeBytes() {
        return freeGrains * GRAIN;
    }

    /** The size of the largest free block, in bytes. */
    long largestFree() {
        if (classesInUse == 0) {
            return 0;
        }
        int upper = Long.SIZE - 1 - Long.numberOfLeadingZeros(classesInUse);
        int lower = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(subclassesInUse[upper]);
        long largest = 0;
        for (Block block = heads[upper * SUBCLASSES + lower]; block != null; block = block.nextFree) {
            largest = Math.max(largest, block.grains);
        }
        return largest * GRAIN;
    }

    /** The number of grains to skip for the alignment. */
    private long gap(Block block, long alignment) {
        return (-(base + offsetOf(block)) & (alignment - 1)) / GRAIN;
    }

    private boolean fits(Block block, long wanted, long alignment) {
        return block.grains - gap(block, alignment) >= wanted;
    }

    private @Nullable Block find(long wanted, long alignment) {
        long gap = alignment / GRAIN;
        if (gap <= grains - wanted) {
            // Every block of this list is large enough, wherever it begins.
            Block block = firstFrom(roundedUp(gap > 1 ? wanted + gap - 1 : wanted));
            if (block != null) {
                return block;
            }
        }
        return search(wanted, alignment);
    }

    /** No list has only blocks that are large enough: looks at all blocks that may be, before giving up. */
    private @Nullable Block search(long wanted, long alignment) {
        for (int list = indexOf(wanted); list < heads.length; list++) {
            for (Block block = heads[list]; block != null; block = block.nextFree) {
                if (fits(block, wanted, alignment)) {
                    return block;
                }
            }
        }
        return null;
    }

    private @Nullable Block firstFrom(int list) {
        if (list >= heads.length) {
            return null;
        }
        int upper = list / SUBCLASSES;
        int subclasses = subclassesInUse[upper] & (-1 << (list % SUBCLASSES));
        if (subclasses == 0) {
            long classes = upper + 1 < CLASSES ? classesInUse & (-1L << (upper + 1)) : 0;
            if (classes == 0) {
                return null;
            }
            upper = Long.numberOfTrailingZeros(classes);
            subclasses = subclassesInUse[upper];
        }
        return heads[upper * SUBCLASSES + Integer.numberOfTrailingZeros(subclasses)];
    }

    /** The first list in which every block has at least this number of grains. */
    private static int roundedUp(long wanted) {
        return wanted < SUBCLASSES ? indexOf(wanted) : indexOf(wanted + (1L << (log2(wanted) - SUBCLASS_BITS)) - 1);
    }

    /**
     * The list of blocks with this number of grains: one for each number below sixteen, then sixteen for each power of
     * two.
     */
    private static int indexOf(long size) {
        if (size < SUBCLASSES) {
            return (int) size;
        }
        int log = log2(size);
        int lower = (int) (size >>> (log - SUBCLASS_BITS)) & (SUBCLASSES - 1);
        return (log - SUBCLASS_BITS + 1) * SUBCLASSES + lower;
    }

    private static int log2(long value) {
        return Long.SIZE - 1 - Long.numberOfLeadingZeros(value);
    }

    private void link(Block block) {
        int list = indexOf(block.grains);
        Block head = heads[list];
        block.free = true;
        block.previousFree = null;
        block.nextFree = head;
        if (head != null) {
            head.previousFree = block;
        }
        heads[list] = block;
        classesInUse |= 1L << (list / SUBCLASSES);
        subclassesInUse[list / SUBCLASSES] |= 1 << (list % SUBCLASSES);
    }

    private void unlink(Block block) {
        int list = indexOf(block.grains);
        if (block.previousFree == null) {
            heads[list] = block.nextFree;
        } else {
            block.previousFree.nextFree = block.nextFree;
        }
        if (block.nextFree != null) {
            block.nextFree.previousFree = block.previousFree;
        }
        block.free = false;
        block.previousFree = null;
        block.nextFree = null;
        if (heads[list] == null) {
            int upper = list / SUBCLASSES;
            subclassesInUse[upper] &= ~(1 << (list % SUBCLASSES));
            if (subclassesInUse[upper] == 0) {
                classesInUse &= ~(1L << upper);
            }
        }
    }

    /** Shortens a block that is in none of the lists, and returns the rest. */
    private static Block split(Block block, long keep) {
        Block rest = new Block(block.start + keep, block.grains - keep);
        block.grains = keep;
        rest.before = block;
        rest.after = block.after;
        if (rest.after != null) {
            rest.after.before = rest;
        }
        block.after = rest;
        return rest;
    }

    private static void join(Block block, Block following) {
        block.grains += following.grains;
        block.after = following.after;
        if (block.after != null) {
            block.after.before = block;
        }
    }
}
