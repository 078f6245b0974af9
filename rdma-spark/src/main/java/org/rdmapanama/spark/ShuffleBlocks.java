package org.rdmapanama.spark;

import java.util.Optional;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockId$;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.rdmapanama.spark.transfer.BlockRange;

/** Translates the names of Spark's blocks. */
final class ShuffleBlocks {
    private ShuffleBlocks() {}

    /** Returns the block with a name; empty if it is not a block of a map output. */
    static Optional<BlockRange> parse(String name) {
        BlockId id;
        try {
            id = BlockId$.MODULE$.apply(name);
        } catch (Exception e) {
            // Spark does not read all names that it gives, and its exception is a checked one that it does not declare.
            return Optional.empty();
        }
        if (id instanceof ShuffleBlockId one) {
            return Optional.of(new BlockRange(one.shuffleId(), one.mapId(), one.reduceId(), one.reduceId() + 1));
        }
        if (id instanceof ShuffleBlockBatchId several) {
            return Optional.of(new BlockRange(
                    several.shuffleId(), several.mapId(), several.startReduceId(), several.endReduceId()));
        }
        return Optional.empty();
    }

    /** Returns the block for Spark. */
    static BlockId id(BlockRange block) {
        return block.end() == block.first() + 1
                ? new ShuffleBlockId(block.shuffle(), block.map(), block.first())
                : new ShuffleBlockBatchId(block.shuffle(), block.map(), block.first(), block.end());
    }
}
