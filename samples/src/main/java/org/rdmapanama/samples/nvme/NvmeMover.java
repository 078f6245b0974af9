package org.rdmapanama.samples.nvme;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeQueue;
import org.rdmapanama.nvme.NvmeResults;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.ProgressBar;

/** Moves a part of a namespace into a file, or from one, with several commands in flight. */
final class NvmeMover {
    /** The most bytes of one command: more makes nothing faster. */
    static final int PIECE = 128 * 1024;

    private final NvmeNamespace namespace;
    private final FileChannel file;
    private final boolean writes;
    private final int depth;

    NvmeMover(NvmeNamespace namespace, FileChannel file, boolean writes, int depth) {
        this.namespace = namespace;
        this.file = file;
        this.writes = writes;
        this.depth = depth;
    }

    /** Moves bytes from, or to, an offset of the namespace. The file begins at 0. */
    void move(long offset, long size, ProgressBar progress) throws IOException, InterruptedException {
        NvmeController controller = namespace.controller();
        int piece = Math.max(namespace.blockSize(), Math.min(PIECE, controller.maxTransfer()));
        try (NvmeQueue queue = controller.openQueue()) {
            int buffers = Math.min(depth, queue.depth());
            MemoryRegion memory = controller.allocate((long) buffers * piece);
            ByteBuffer[] views = new ByteBuffer[buffers];
            long[] places = new long[buffers];
            int[] free = new int[buffers];
            int freeCount = buffers;
            for (int i = 0; i < buffers; i++) {
                views[i] = memory.memory().asSlice((long) i * piece, piece).asByteBuffer();
                free[i] = i;
            }
            NvmeResults results = new NvmeResults(buffers);
            long begun = 0;
            long done = 0;
            while (done < size) {
                while (freeCount > 0 && begun < size) {
                    int buffer = free[--freeCount];
                    int bytes = (int) Math.min(piece, size - begun);
                    places[buffer] = begun;
                    submit(queue, memory, views[buffer].clear().limit(bytes), offset, begun, buffer, piece);
                    begun += bytes;
                }
                int count = queue.await(results, Duration.ofDays(1));
                for (int i = 0; i < count; i++) {
                    int buffer = (int) results.cookie(i);
                    if (!results.succeeded(i)) {
                        throw new Failure((writes ? "writing" : "reading") + " at byte " + (offset + places[buffer])
                                + " failed with " + results.status(i));
                    }
                    ByteBuffer view = views[buffer];
                    done += view.limit();
                    if (!writes) {
                        put(view, places[buffer]);
                    }
                    free[freeCount++] = buffer;
                }
                progress.show(done, System.nanoTime());
            }
        }
        if (writes) {
            namespace.flush();
        }
    }

    private void submit(
            NvmeQueue queue, MemoryRegion memory, ByteBuffer view, long offset, long at, int buffer, int piece)
            throws IOException {
        if (writes) {
            while (view.hasRemaining()) {
                if (file.read(view, at + view.position()) < 0) {
                    throw new EOFException("the file has become shorter");
                }
            }
        }
        long first = (offset + at) / namespace.blockSize();
        int blocks = view.limit() / namespace.blockSize();
        long place = (long) buffer * piece;
        checkSubmitted(
                writes
                        ? queue.tryWrite(namespace, first, memory, place, blocks, buffer)
                        : queue.tryRead(namespace, first, memory, place, blocks, buffer));
    }

    /** Checks that a queue, which has as many slots as there are buffers, had room for a command. */
    static void checkSubmitted(boolean submitted) {
        if (!submitted) {
            throw new Failure("the target does not take as many commands as it has said");
        }
    }

    private void put(ByteBuffer view, long at) throws IOException {
        view.rewind();
        while (view.hasRemaining()) {
            file.write(view, at + view.position());
        }
    }
}
