package org.rdmapanama.spark;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Spark's sort shuffle, whose map outputs are read by RDMA READ. It is used by {@code spark.shuffle.manager} with the name of this
 * class. Writers and files are Spark's own; what cannot be read so is fetched by Spark's own client.
 */
public final class RdmaShuffleManager extends SortShuffleManager {
    private static final Logger LOG = LogManager.getLogger(RdmaShuffleManager.class);

    private final SparkConf conf;
    private final boolean isDriver;

    /** Null until it is needed, when the environment of the process is complete. Absent if there is no RDMA. */
    private final AtomicReference<ExecutorShuffle> executor = new AtomicReference<>();

    /** Whether the driver tells of addresses. */
    private boolean tells;

    /**
     * Creates the manager; Spark calls this.
     *
     * @param conf the configuration
     * @param isDriver whether this is the driver
     * @throws IllegalArgumentException at the driver, when a setting {@code spark.rdma.*} is not known, or has a value that is
     *     not allowed
     */
    public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
        super(conf);
        this.conf = conf;
        this.isDriver = isDriver;
        if (isDriver) {
            // So that a wrong setting ends the application at once, and not its tasks one after the other.
            new RdmaShuffleConf(conf).transfer();
        }
    }

    private ExecutorShuffle executor() {
        ExecutorShuffle known = executor.get();
        if (known != null) {
            return known;
        }
        synchronized (this) {
            ExecutorShuffle started = executor.get();
            if (started == null) {
                started = ExecutorShuffle.start(conf, SparkEnv.get(), shuffleBlockResolver());
                executor.set(started);
            }
            return started;
        }
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffle, ShuffleDependency<K, V, C> dependency) {
        synchronized (this) {
            if (isDriver && !tells) {
                ExecutorAddresses.serve(SparkEnv.get().rpcEnv());
                tells = true;
            }
        }
        return super.registerShuffle(shuffle, dependency);
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long map, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        // Before it has anything to read, so that its address is known by then.
        executor();
        return super.getWriter(handle, map, context, metrics);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMap,
            int endMap,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        BaseShuffleHandle<K, ?, C> known = (BaseShuffleHandle<K, ?, C>) handle;
        ExecutorShuffle own = executor();
        BlockStoreClient client = own.client();
        if (client == null) {
            return super.getReader(handle, startMap, endMap, startPartition, endPartition, context, metrics);
        }
        MapOutputTracker tracker = SparkEnv.get().mapOutputTracker();
        int shuffle = handle.shuffleId();
        Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
        boolean inBatches = canUseBatchFetch(startPartition, endPartition, context);
        if (known.dependency().isShuffleMergeFinalizedMarked()) {
            // Some of these are of shuffle services, which have merged what was pushed to them.
            MapSizesByExecutorId merged = tracker.getPushBasedShuffleMapSizesByExecutorId(
                    shuffle, startMap, endMap, startPartition, endPartition);
            blocks = merged.iter();
            inBatches = inBatches && merged.enableBatchFetch();
        } else {
            blocks = tracker.getMapSizesByExecutorId(shuffle, startMap, endMap, startPartition, endPartition);
        }
        return new RdmaShuffleReader<>(known.dependency(), blocks, inBatches, context, metrics, client);
    }

    @Override
    public boolean unregisterShuffle(int shuffle) {
        ExecutorShuffle known = executor.get();
        if (known != null) {
            known.forget(shuffle);
        }
        boolean unregistered = super.unregisterShuffle(shuffle);
        if (known != null) {
            // Those that were asked for before they were removed.
            known.forget(shuffle);
        }
        return unregistered;
    }

    @Override
    public void stop() {
        ExecutorShuffle known = executor.get();
        if (known != null) {
            LOG.info("{}", known);
            known.close();
        }
        super.stop();
    }
}
