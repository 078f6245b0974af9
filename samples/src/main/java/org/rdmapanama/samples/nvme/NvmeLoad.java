package org.rdmapanama.samples.nvme;

import java.time.Duration;
import java.util.SplittableRandom;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeQueue;
import org.rdmapanama.nvme.NvmeResults;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;
import org.rdmapanama.samples.figures.LatencyRecord;

/**
 * Reads or writes a namespace, with a number of commands in flight, and measures how long each takes. Nothing is allocated
 * meanwhile. To be used by one thread.
 */
final class NvmeLoad implements AutoCloseable {
    private final NvmeNamespace namespace;
    private final boolean writes;
    private final int blocks;
    private final boolean sequential;
    private final NvmeQueue queue;
    private final int depth;
    private final MemoryRegion memory;
    private final NvmeResults results;

    /** When the command of each buffer was sent, by System.nanoTime(). */
    private final long[] sent;

    /** The places that a command can have, of its size each. */
    private final long places;

    private final SplittableRandom random = new SplittableRandom();
    private long next;

    /**
     * Opens a queue for it.
     *
     * @param bytes how much each command moves: whole blocks, at most what the controller takes
     */
    NvmeLoad(NvmeNamespace namespace, boolean writes, int bytes, int depth, boolean sequential)
            throws InterruptedException {
        this.namespace = namespace;
        this.writes = writes;
        this.sequential = sequential;
        blocks = bytes / namespace.blockSize();
        places = namespace.byteSize() / bytes;
        queue = namespace.controller().openQueue();
        this.depth = Math.min(depth, queue.depth());
        memory = namespace.controller().allocate((long) this.depth * bytes);
        results = new NvmeResults(this.depth);
        sent = new long[this.depth];
    }

    /** Returns the number of commands in flight, which may be less than was asked for. */
    int depth() {
        return depth;
    }

    /** Executes a number of commands, and returns how long that took, in nanoseconds. */
    long run(long count, LatencyRecord times, ProgressBar progress) throws InterruptedException {
        long start = System.nanoTime();
        long begun = Math.min(depth, count);
        for (int buffer = 0; buffer < begun; buffer++) {
            submit(buffer);
        }
        for (long done = 0; done < count; ) {
            int ended = queue.await(results, Duration.ofDays(1));
            long now = System.nanoTime();
            for (int i = 0; i < ended; i++) {
                if (!results.succeeded(i)) {
                    throw new Failure((writes ? "writing" : "reading") + " failed with " + results.status(i));
                }
                int buffer = (int) results.cookie(i);
                times.record(now - sent[buffer]);
                if (begun < count) {
                    begun++;
                    submit(buffer);
                }
            }
            done += ended;
            progress.show(done * blocks * namespace.blockSize(), now);
        }
        return System.nanoTime() - start;
    }

    private void submit(int buffer) {
        long place = sequential ? next++ % places : random.nextLong(places);
        long bytes = (long) blocks * namespace.blockSize();
        sent[buffer] = System.nanoTime();
        NvmeMover.checkSubmitted(
                writes
                        ? queue.tryWrite(namespace, place * blocks, memory, buffer * bytes, blocks, buffer)
                        : queue.tryRead(namespace, place * blocks, memory, buffer * bytes, blocks, buffer));
    }

    @Override
    public void close() {
        queue.close();
    }
}
