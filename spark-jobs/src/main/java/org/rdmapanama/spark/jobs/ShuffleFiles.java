package org.rdmapanama.spark.jobs;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.rdmapanama.spark.transfer.BlockFiles;
import org.rdmapanama.spark.transfer.BlockRange;
import org.rdmapanama.spark.transfer.IndexedFiles;

/**
 * The outputs of map tasks, in files as Spark writes them: one with all partitions one after the other, and one that says where
 * each of them begins.
 *
 * @param folder where they are
 * @param maps how many map tasks there are
 * @param partitions how many partitions each of them has
 * @param blockBytes how many bytes a partition has
 */
record ShuffleFiles(Path folder, int maps, int partitions, int blockBytes) implements BlockFiles, IndexedFiles.Outputs {
    static final int SHUFFLE = 1;

    @Override
    public Path data(int shuffle, long map) {
        return folder.resolve("shuffle_" + shuffle + "_" + map + "_0.data");
    }

    @Override
    public Path index(int shuffle, long map) {
        return folder.resolve("shuffle_" + shuffle + "_" + map + "_0.index");
    }

    long bytes() {
        return (long) maps * partitions * blockBytes;
    }

    /**
     * Writes the files.
     *
     * @return the checksums of the blocks
     */
    Map<BlockRange, Long> write() throws IOException {
        Map<BlockRange, Long> checksums = new HashMap<>();
        byte[] block = new byte[blockBytes];
        for (int map = 0; map < maps; map++) {
            SplittableRandom random = new SplittableRandom(map);
            try (OutputStream data = Files.newOutputStream(data(SHUFFLE, map));
                    DataOutputStream index = new DataOutputStream(Files.newOutputStream(index(SHUFFLE, map)))) {
                index.writeLong(0);
                for (int partition = 0; partition < partitions; partition++) {
                    random.nextBytes(block);
                    data.write(block);
                    index.writeLong((partition + 1L) * blockBytes);
                    CRC32C checksum = new CRC32C();
                    checksum.update(block);
                    checksums.put(block(map, partition), checksum.getValue());
                }
            }
        }
        return checksums;
    }

    private static BlockRange block(int map, int partition) {
        return new BlockRange(SHUFFLE, map, partition, partition + 1);
    }

    /** Returns the blocks as tasks read them: each a partition of all outputs. */
    List<BlockRange> inOrderOfTasks() {
        List<BlockRange> blocks = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            for (int map = 0; map < maps; map++) {
                blocks.add(block(map, partition));
            }
        }
        return blocks;
    }

    /** Looks into the index each time, as Spark does for its own server. */
    @Override
    public Location locate(BlockRange block) throws IOException {
        ByteBuffer range = ByteBuffer.allocate(2 * Long.BYTES);
        try (FileChannel index = FileChannel.open(index(block.shuffle(), block.map()), StandardOpenOption.READ)) {
            index.position((long) block.first() * Long.BYTES);
            while (range.hasRemaining() && index.read(range) >= 0) {
                // Goes on.
            }
        }
        if (range.hasRemaining()) {
            throw new IOException(block + " is not in its index");
        }
        long begin = range.getLong(0);
        return new Location(data(block.shuffle(), block.map()), begin, range.getLong(Long.BYTES) - begin);
    }
}
