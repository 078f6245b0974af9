package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The outputs of map tasks, each with an index that says where its partitions begin and end, in numbers of 8 bytes. An index is
 * read once and kept in memory, as long as there is room: a block of each output is asked for by each task that reads the
 * shuffle, and opening the index each time takes longer than all else that the server does for a block.
 *
 * <p>Threads: any.
 */
public final class IndexedFiles implements BlockFiles {
    /** Knows the files of an output. */
    public interface Outputs {
        /**
         * {@return the file of an output's index}
         *
         * @param shuffle the number of the shuffle
         * @param map the number of the map task's attempt
         */
        Path index(int shuffle, long map);

        /**
         * {@return the file of an output's partitions}
         *
         * @param shuffle the number of the shuffle
         * @param map the number of the map task's attempt
         */
        Path data(int shuffle, long map);
    }

    /** How much memory the indexes may have, in bytes. */
    private static final long MOST_BYTES = 16 << 20;

    private record Output(int shuffle, long map) {}

    private record Known(Path data, LongBuffer offsets) {
        long bytes() {
            return (long) offsets.limit() * Long.BYTES;
        }
    }

    private final Outputs outputs;

    /** In the order of their last use. Guarded by this, as the next one is. */
    private final Map<Output, Known> known = new LinkedHashMap<>(16, 0.75f, true);

    private long bytes;

    /**
     * Creates an empty cache.
     *
     * @param outputs knows the files
     */
    public IndexedFiles(Outputs outputs) {
        this.outputs = outputs;
    }

    @Override
    public Location locate(BlockRange block) throws IOException {
        Known found = find(new Output(block.shuffle(), block.map()));
        LongBuffer offsets = found.offsets();
        if (block.end() >= offsets.limit()) {
            throw new IOException(block + " is beyond the " + (offsets.limit() - 1) + " partitions of its index");
        }
        long begin = offsets.get(block.first());
        long end = offsets.get(block.end());
        if (begin < 0 || end < begin) {
            throw new IOException(block + " has a broken index: it is from " + begin + " to " + end);
        }
        return new Location(found.data(), begin, end - begin);
    }

    private Known find(Output output) throws IOException {
        synchronized (this) {
            Known found = known.get(output);
            if (found != null) {
                return found;
            }
        }
        Path index = outputs.index(output.shuffle(), output.map());
        ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(index));
        if (content.limit() == 0 || content.limit() % Long.BYTES != 0) {
            throw new IOException(index + " is not an index: it has " + content.limit() + " bytes");
        }
        Known read = new Known(outputs.data(output.shuffle(), output.map()), content.asLongBuffer());
        keep(output, read);
        return read;
    }

    private synchronized void keep(Output output, Known read) {
        Known before = known.put(output, read);
        bytes += read.bytes() - (before == null ? 0 : before.bytes());
        for (Iterator<Known> each = known.values().iterator(); bytes > MOST_BYTES && each.hasNext(); ) {
            bytes -= each.next().bytes();
            each.remove();
        }
    }

    @Override
    public synchronized void forget(int shuffle) {
        known.entrySet().removeIf(each -> {
            boolean goes = each.getKey().shuffle() == shuffle;
            if (goes) {
                bytes -= each.getValue().bytes();
            }
            return goes;
        });
    }
}
