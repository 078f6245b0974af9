package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.TaskContext;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.StorageLevel;
import org.rdmapanama.spark.transfer.BlockFiles;
import org.rdmapanama.spark.transfer.BlockRange;
import scala.Option;
import scala.reflect.ClassTag;

/** Gives Spark's own server the blocks of files, as an executor does; null for a process that only fetches. */
final class SparkBlocks implements BlockDataManager {
    private final BlockFiles files;
    private final TransportConf conf = SparkTransportConf.fromSparkConf(
            ServingSettings.conf(),
            "shuffle",
            Runtime.getRuntime().availableProcessors(),
            Option.empty(),
            Option.empty());

    SparkBlocks(BlockFiles files) {
        this.files = files;
    }

    @Override
    public ManagedBuffer getLocalBlockData(BlockId id) {
        ShuffleBlockId block = (ShuffleBlockId) id;
        try {
            BlockFiles.Location place = files.locate(
                    new BlockRange(block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1));
            return new FileSegmentManagedBuffer(conf, place.file().toFile(), place.offset(), place.length());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static UnsupportedOperationException onlyLocalBlocks() {
        return new UnsupportedOperationException("there are only blocks of map outputs");
    }

    @Override
    public String[] getLocalDiskDirs() {
        throw onlyLocalBlocks();
    }

    @Override
    public ManagedBuffer getHostLocalShuffleData(BlockId id, String[] folders) {
        throw onlyLocalBlocks();
    }

    @Override
    public boolean putBlockData(BlockId id, ManagedBuffer data, StorageLevel level, ClassTag<?> tag) {
        throw onlyLocalBlocks();
    }

    @Override
    public StreamCallbackWithID putBlockDataAsStream(BlockId id, StorageLevel level, ClassTag<?> tag) {
        throw onlyLocalBlocks();
    }

    @Override
    public void releaseLock(BlockId id, Option<TaskContext> task) {
        throw onlyLocalBlocks();
    }

    @Override
    public Cause diagnoseShuffleBlockCorruption(BlockId id, long checksum, String algorithm) {
        throw onlyLocalBlocks();
    }
}
