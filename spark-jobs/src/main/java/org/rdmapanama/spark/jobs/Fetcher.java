package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.storage.BlockId$;
import org.apache.spark.storage.ShuffleBlockId;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockListener;
import org.rdmapanama.spark.transfer.BlockRange;
import org.rdmapanama.spark.transfer.FetchedBlock;

/** Fetches blocks in one of two ways, into a queue. */
@FunctionalInterface
interface Fetcher {
    /**
     * What comes of a block.
     *
     * @param block the block
     * @param bytes its bytes; null after a failure
     * @param release must be called when the bytes are no longer used
     * @param failure why it has not arrived; null if it has
     */
    record Arrival(BlockRange block, ByteBuffer bytes, Runnable release, String failure) {
        static Arrival failed(BlockRange block, String failure) {
            return new Arrival(block, null, () -> {}, failure);
        }
    }

    /** Asks for blocks; does not wait for them. */
    void fetch(List<BlockRange> blocks);

    /** Returns one that uses Spark's own client. */
    static Fetcher spark(NettyBlockTransferService client, InetSocketAddress server, BlockingQueue<Arrival> arrivals) {
        BlockFetchingListener listener = new BlockFetchingListener() {
            @Override
            public void onBlockFetchSuccess(String id, ManagedBuffer buffer) {
                try {
                    buffer.retain();
                    arrivals.add(new Arrival(block(id), buffer.nioByteBuffer(), buffer::release, null));
                } catch (IOException e) {
                    arrivals.add(Arrival.failed(block(id), e.toString()));
                }
            }

            @Override
            public void onBlockFetchFailure(String id, Throwable failure) {
                arrivals.add(Arrival.failed(block(id), failure.toString()));
            }
        };
        return blocks -> client.fetchBlocks(
                server.getHostString(),
                server.getPort(),
                ServingSettings.EXECUTOR,
                blocks.stream()
                        .map(each -> new ShuffleBlockId(each.shuffle(), each.map(), each.first()).name())
                        .toArray(String[]::new),
                listener,
                null);
    }

    private static BlockRange block(String id) {
        ShuffleBlockId block = (ShuffleBlockId) BlockId$.MODULE$.apply(id);
        return new BlockRange(block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1);
    }

    /** Returns one that reads by RDMA. */
    static Fetcher rdma(BlockClient client, InetSocketAddress server, BlockingQueue<Arrival> arrivals) {
        BlockListener listener = new BlockListener() {
            @Override
            public void arrived(BlockRange block, FetchedBlock buffer) {
                arrivals.add(new Arrival(block, buffer.memory().asByteBuffer(), buffer::release, null));
            }

            @Override
            public void unavailable(BlockRange block, String reason) {
                arrivals.add(Arrival.failed(block, reason));
            }
        };
        return blocks -> client.fetch(server, blocks, listener);
    }
}
