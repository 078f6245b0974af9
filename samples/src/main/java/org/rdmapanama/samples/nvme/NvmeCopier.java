package org.rdmapanama.samples.nvme;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeQueue;
import org.rdmapanama.nvme.NvmeResults;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;

/**
 * Copies from one namespace to another with several commands in flight. Each buffer is registered with both controllers, so
 * that one puts the data where the other fetches it. To be used by one thread.
 */
final class NvmeCopier {
    /** How long to wait for one queue while the other one has commands, too. */
    private static final Duration MOMENT = Duration.ofMillis(1);

    private static final Duration LONG = Duration.ofDays(1);
    private static final int PAGE = 4096;

    private final NvmeNamespace from;
    private final NvmeNamespace into;
    private final int depth;
    private final int piece;

    /** Of each buffer: where its data is in both namespaces, and how much there is. */
    private final long[] places;

    private final int[] sizes;

    /** The buffers that have no command. */
    private final int[] free;

    private int freeCount;

    NvmeCopier(NvmeNamespace from, NvmeNamespace into, int depth) {
        this.from = from;
        this.into = into;
        this.depth = depth;
        int blocks = Math.max(from.blockSize(), into.blockSize());
        int most = Math.min(from.controller().maxTransfer(), into.controller().maxTransfer());
        piece = Math.max(blocks, Math.min(NvmeMover.PIECE, most) / blocks * blocks);
        places = new long[depth];
        sizes = new int[depth];
        free = new int[depth];
    }

    /** Copies bytes that begin at an offset. */
    void copy(long offset, long size, ProgressBar progress) throws InterruptedException {
        try (NvmeQueue reads = from.controller().openQueue();
                NvmeQueue writes = into.controller().openQueue()) {
            int buffers = Math.min(depth, Math.min(reads.depth(), writes.depth()));
            // Of neither controller, whose memory goes with it.
            MemorySegment memory = Arena.ofAuto().allocate((long) buffers * piece, PAGE);
            MemoryRegion filled = from.controller().register(memory);
            MemoryRegion emptied = into.controller().register(memory);
            NvmeResults results = new NvmeResults(buffers);
            for (int i = 0; i < buffers; i++) {
                free[freeCount++] = i;
            }
            long begun = 0;
            long done = 0;
            while (done < size) {
                while (freeCount > 0 && begun < size) {
                    int buffer = free[--freeCount];
                    places[buffer] = offset + begun;
                    sizes[buffer] = (int) Math.min(piece, size - begun);
                    begun += sizes[buffer];
                    NvmeMover.checkSubmitted(reads.tryRead(
                            from,
                            places[buffer] / from.blockSize(),
                            filled,
                            (long) buffer * piece,
                            sizes[buffer] / from.blockSize(),
                            buffer));
                }
                await(reads, writes.pending() > 0 ? MOMENT : LONG, results);
                for (int i = 0; i < results.count(); i++) {
                    int buffer = succeeded(results, i, "reading");
                    NvmeMover.checkSubmitted(writes.tryWrite(
                            into,
                            places[buffer] / into.blockSize(),
                            emptied,
                            (long) buffer * piece,
                            sizes[buffer] / into.blockSize(),
                            buffer));
                }
                await(writes, reads.pending() > 0 ? MOMENT : LONG, results);
                for (int i = 0; i < results.count(); i++) {
                    int buffer = succeeded(results, i, "writing");
                    done += sizes[buffer];
                    free[freeCount++] = buffer;
                }
                progress.show(done, System.nanoTime());
            }
        }
        into.flush();
    }

    private static void await(NvmeQueue queue, Duration longest, NvmeResults results) throws InterruptedException {
        queue.await(results, queue.pending() > 0 ? longest : Duration.ZERO);
    }

    /** Returns the buffer of a command that has ended. */
    private int succeeded(NvmeResults results, int index, String doing) {
        int buffer = (int) results.cookie(index);
        if (!results.succeeded(index)) {
            throw new Failure(doing + " at byte " + places[buffer] + " failed with " + results.status(index));
        }
        return buffer;
    }
}
