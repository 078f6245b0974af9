package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeException;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeQueue;
import org.rdmapanama.nvme.NvmeResults;
import org.rdmapanama.nvme.NvmeStatus;
import org.rdmapanama.testing.Bound;

/**
 * Random reads and writes of a part of a namespace, with as many commands under way as wanted, and a copy of what must be there.
 * Each of them has blocks of its own, because the order of commands that are under way is not defined. Every read is compared
 * with the copy.
 */
final class VerifiedLoad {
    /** Less than the tests' own limits. */
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final NvmeQueue queue;
    private final NvmeNamespace namespace;
    private final int depth;
    private final Random random;
    private final int first;
    private final int laneBlocks;
    private final int blockSize;
    private final MemoryRegion region;

    /** What must be in the blocks. */
    private final byte[] copy;

    private final int[] block;
    private final int[] blocks;
    private final boolean[] reads;
    private final NvmeResults results;
    private long left;
    private int underWay;
    private NvmeStatus failure = NvmeStatus.SUCCESS;
    private volatile long done;

    /** The load takes a number of blocks from a first one on, whose contents it reads. */
    VerifiedLoad(NvmeQueue queue, NvmeNamespace namespace, int depth, int first, int count, long seed) {
        this.queue = queue;
        this.namespace = namespace;
        this.depth = depth;
        this.first = first;
        random = new Random(seed);
        blockSize = namespace.blockSize();
        laneBlocks = count / depth;
        NvmeController controller = namespace.controller();
        region = controller.allocate((long) count * blockSize);
        namespace.read(first, region.memory());
        copy = new byte[count * blockSize];
        MemorySegment.copy(region.memory(), 0, MemorySegment.ofArray(copy), 0, copy.length);
        block = new int[depth];
        blocks = new int[depth];
        reads = new boolean[depth];
        results = new NvmeResults(depth);
    }

    /** How many commands of the present run have ended. */
    long done() {
        return done;
    }

    /** What must be in the blocks now. */
    byte[] copy() {
        return copy;
    }

    /**
     * Executes a number of commands, with sizes of up to a number of blocks.
     *
     * @return the status of the first command that failed, after all have ended; success if none did
     */
    NvmeStatus run(long commands, int maxBlocks) throws InterruptedException {
        failure = NvmeStatus.SUCCESS;
        left = commands;
        for (int lane = 0; lane < depth; lane++) {
            beginNext(lane, maxBlocks);
        }
        long ended = 0;
        Bound bound = Bound.of(LIMIT);
        while (underWay > 0) {
            int count = queue.await(results, Duration.ofSeconds(1));
            bound.check("commands do not end: " + underWay + " are under way after " + ended);
            for (int i = 0; i < count; i++) {
                underWay--;
                ended++;
                if (results.succeeded(i)) {
                    int lane = (int) results.cookie(i);
                    check(lane);
                    beginNext(lane, maxBlocks);
                } else {
                    fail(results.status(i));
                }
            }
            done = ended;
        }
        return failure;
    }

    private void fail(NvmeStatus status) {
        if (failure.isSuccess()) {
            failure = status;
        }
    }

    /** Begins another command, unless all have begun, or one has failed. */
    private void beginNext(int lane, int maxBlocks) {
        if (left == 0 || !failure.isSuccess()) {
            return;
        }
        try {
            begin(lane, maxBlocks);
            left--;
            underWay++;
        } catch (NvmeException lost) {
            fail(lost.status());
        }
    }

    private void begin(int lane, int maxBlocks) {
        int most = Math.min(maxBlocks, laneBlocks);
        // Often the smallest and the largest.
        blocks[lane] = switch (random.nextInt(4)) {
            case 0 -> 1;
            case 1 -> most;
            default -> 1 + random.nextInt(most);
        };
        block[lane] = lane * laneBlocks + random.nextInt(laneBlocks - blocks[lane] + 1);
        reads[lane] = random.nextBoolean();
        int offset = block[lane] * blockSize;
        int size = blocks[lane] * blockSize;
        MemorySegment memory = region.memory().asSlice(offset, size);
        boolean begun;
        if (reads[lane]) {
            memory.fill((byte) 0x55);
            begun = queue.tryRead(namespace, first + block[lane], region, offset, blocks[lane], lane);
        } else {
            byte[] data = new byte[size];
            random.nextBytes(data);
            System.arraycopy(data, 0, copy, offset, size);
            MemorySegment.copy(MemorySegment.ofArray(data), 0, memory, 0, size);
            begun = queue.tryWrite(namespace, first + block[lane], region, offset, blocks[lane], lane);
        }
        assertTrue(begun, "the queue is full");
    }

    private void check(int lane) {
        if (reads[lane]) {
            long offset = (long) block[lane] * blockSize;
            long size = (long) blocks[lane] * blockSize;
            MemorySegment wanted = MemorySegment.ofArray(copy).asSlice(offset, size);
            assertEquals(-1, region.memory().asSlice(offset, size).mismatch(wanted), () -> "block " + block[lane]);
        }
    }
}
