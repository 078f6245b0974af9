package org.rdmapanama.spark.transfer;

import java.io.IOException;
import java.nio.file.Path;

/** Knows in which files the blocks of this process are. */
@FunctionalInterface
public interface BlockFiles {
    /**
     * Where a block is.
     *
     * @param file the file
     * @param offset where the block begins in it
     * @param length how many bytes it has, 0 or more
     */
    record Location(Path file, long offset, long length) {}

    /**
     * Finds a block. Several threads may call this at once.
     *
     * @param block the block, which a peer has named
     * @return where it is
     * @throws IOException when it is not in a file of this process
     */
    Location locate(BlockRange block) throws IOException;

    /**
     * Forgets what it knows of a shuffle, whose files are removed. It may be asked for them all the same.
     *
     * @param shuffle the number of the shuffle
     */
    default void forget(int shuffle) {}
}
