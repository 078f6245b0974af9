package org.rdmapanama.spark;

import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Counts what comes from other executors, by RDMA and otherwise. Any thread may use it. */
final class ShuffleCounters {
    private final LongAdder rdmaBlocks = new LongAdder();
    private final LongAdder rdmaBytes = new LongAdder();
    private final LongAdder otherBlocks = new LongAdder();
    private final LongAdder otherBytes = new LongAdder();

    void arrived(long bytes) {
        rdmaBlocks.increment();
        rdmaBytes.add(bytes);
    }

    void othersFetched(int blocks) {
        otherBlocks.add(blocks);
    }

    long rdmaBlocks() {
        return rdmaBlocks.sum();
    }

    long rdmaBytes() {
        return rdmaBytes.sum();
    }

    long otherBlocks() {
        return otherBlocks.sum();
    }

    long otherBytes() {
        return otherBytes.sum();
    }

    /** Returns a listener that also counts the bytes of what comes otherwise. */
    BlockFetchingListener counting(BlockFetchingListener listener) {
        return new BlockFetchingListener() {
            @Override
            public void onBlockFetchSuccess(String block, ManagedBuffer buffer) {
                otherBytes.add(buffer.size());
                listener.onBlockFetchSuccess(block, buffer);
            }

            @Override
            public void onBlockFetchFailure(String block, Throwable failure) {
                listener.onBlockFetchFailure(block, failure);
            }
        };
    }
}
