package org.rdmapanama.spark;

import com.codahale.metrics.MetricSet;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.rdmapanama.spark.transfer.BlockClient;
import org.rdmapanama.spark.transfer.BlockListener;
import org.rdmapanama.spark.transfer.BlockRange;
import org.rdmapanama.spark.transfer.FetchedBlock;

/**
 * Fetches blocks of other executors by RDMA READ. What cannot be fetched so, is fetched by Spark's own client: blocks that are
 * no shuffle blocks, or are to be streamed to a file, and those of executors that cannot be reached.
 */
final class RdmaBlockClient extends BlockStoreClient {
    private static final Logger LOG = LogManager.getLogger(RdmaBlockClient.class);

    private final BlockClient client;
    private final BlockStoreClient other;
    private final Function<String, Optional<InetSocketAddress>> addresses;
    private final ShuffleCounters counters;

    /** Spark's client connects in the thread that calls it, which may take long. */
    private final ExecutorService falling = Executors.newCachedThreadPool(
            Thread.ofPlatform().daemon().name("rdma-fallback-", 0).factory());

    /**
     * Creates a client.
     *
     * @param client the client for RDMA
     * @param other Spark's own
     * @param addresses finds the address of an executor
     * @param counters counts what goes which way
     */
    RdmaBlockClient(
            BlockClient client,
            BlockStoreClient other,
            Function<String, Optional<InetSocketAddress>> addresses,
            ShuffleCounters counters) {
        this.client = client;
        this.other = other;
        this.addresses = addresses;
        this.counters = counters;
    }

    @Override
    public void fetchBlocks(
            String host,
            int port,
            String executor,
            String[] ids,
            BlockFetchingListener listener,
            DownloadFileManager files) {
        Map<BlockRange, String> blocks = new LinkedHashMap<>();
        List<String> others = new ArrayList<>();
        for (String id : ids) {
            BlockRange block = files == null ? ShuffleBlocks.parse(id).orElse(null) : null;
            // One that is named twice is told of twice.
            if (block == null || blocks.putIfAbsent(block, id) != null) {
                others.add(id);
            }
        }
        Optional<InetSocketAddress> address = blocks.isEmpty() ? Optional.empty() : addresses.apply(executor);
        if (address.isEmpty()) {
            counters.othersFetched(ids.length);
            other.fetchBlocks(host, port, executor, ids, counters.counting(listener), files);
            return;
        }
        fetch(address.get(), host, port, executor, blocks, listener);
        if (!others.isEmpty()) {
            counters.othersFetched(others.size());
            other.fetchBlocks(host, port, executor, others.toArray(String[]::new), counters.counting(listener), null);
        }
    }

    /** Fetches by RDMA, and what cannot be fetched so by Spark's client. */
    private void fetch(
            InetSocketAddress address,
            String host,
            int port,
            String executor,
            Map<BlockRange, String> blocks,
            BlockFetchingListener listener) {
        client.fetch(address, List.copyOf(blocks.keySet()), new BlockListener() {
            private final List<String> left = new ArrayList<>();
            private int told;

            @Override
            public void arrived(BlockRange block, FetchedBlock bytes) {
                try {
                    counters.arrived(bytes.memory().byteSize());
                    // Retains it.
                    listener.onBlockFetchSuccess(blocks.get(block), new RdmaBlockBuffer(bytes));
                } catch (RuntimeException | Error e) {
                    // Otherwise a task waits for it. It must not come again by TCP: the task may have it already.
                    listener.onBlockFetchFailure(blocks.get(block), e);
                    throw e;
                } finally {
                    bytes.release();
                    tell();
                }
            }

            @Override
            public void unavailable(BlockRange block, String reason) {
                try {
                    LOG.debug("{} of executor {} comes by TCP: {}", block, executor, reason);
                    left.add(blocks.get(block));
                } catch (RuntimeException | Error e) {
                    listener.onBlockFetchFailure(blocks.get(block), e);
                    throw e;
                } finally {
                    tell();
                }
            }

            private void tell() {
                told++;
                if (told == blocks.size() && !left.isEmpty()) {
                    try {
                        falling.execute(() -> fallBack(host, port, executor, left.toArray(String[]::new), listener));
                    } catch (RuntimeException | Error e) {
                        // Such as that there is no memory for a thread.
                        left.forEach(id -> listener.onBlockFetchFailure(id, e));
                        throw e;
                    }
                }
            }
        });
    }

    private void fallBack(String host, int port, String executor, String[] ids, BlockFetchingListener listener) {
        counters.othersFetched(ids.length);
        try {
            other.fetchBlocks(host, port, executor, ids, counters.counting(listener), null);
        } catch (RuntimeException | Error e) {
            // Otherwise a task waits for them.
            for (String id : ids) {
                listener.onBlockFetchFailure(id, e);
            }
        }
    }

    @Override
    public Cause diagnoseCorruption(
            String host,
            int port,
            String executor,
            int shuffle,
            long map,
            int partition,
            long checksum,
            String algorithm) {
        return other.diagnoseCorruption(host, port, executor, shuffle, map, partition, checksum, algorithm);
    }

    @Override
    public MetricSet shuffleMetrics() {
        return other.shuffleMetrics();
    }

    @Override
    public void getHostLocalDirs(
            String host, int port, String[] executors, CompletableFuture<Map<String, String[]>> folders) {
        other.getHostLocalDirs(host, port, executors, folders);
    }

    @Override
    public void getMergedBlockMeta(
            String host, int port, int shuffle, int merge, int partition, MergedBlocksMetaListener listener) {
        other.getMergedBlockMeta(host, port, shuffle, merge, partition, listener);
    }

    /** The clients have owners of their own, and threads that have nothing to do end. */
    @Override
    public void close() {}
}
