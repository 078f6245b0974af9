package org.rdmapanama.spark;

import java.io.InputStream;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.Clock;
import org.apache.spark.util.CompletionIterator$;
import org.apache.spark.util.SystemClock;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;
import scala.runtime.BoxedUnit;

/**
 * Reads the partitions of a shuffle as Spark's own reader does, with another client for the blocks of other executors. What
 * limits the bytes in flight, finds broken blocks and repeats stages is Spark's.
 */
final class RdmaShuffleReader<K, V, C> implements ShuffleReader<K, C> {
    private static final package$ CONFIG = package$.MODULE$;

    private final ShuffleDependency<K, V, C> dependency;
    private final Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks;
    private final boolean inBatches;
    private final TaskContext context;
    private final ShuffleReadMetricsReporter metrics;
    private final BlockStoreClient client;

    RdmaShuffleReader(
            ShuffleDependency<K, V, C> dependency,
            Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
            boolean inBatches,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            BlockStoreClient client) {
        this.dependency = dependency;
        this.blocks = blocks;
        this.inBatches = inBatches;
        this.context = context;
        this.metrics = metrics;
        this.client = client;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        SerializerInstance serializer = dependency.serializer().newInstance();
        Iterator<Tuple2<Object, Object>> records = streams()
                .flatMap(stream -> serializer.deserializeStream(stream._2()).asKeyValueIterator())
                .map(each -> {
                    metrics.incRecordsRead(1);
                    return each;
                });
        Iterator<Tuple2<Object, Object>> counted = CompletionIterator$.MODULE$.apply(records, () -> {
            context.taskMetrics().mergeShuffleReadMetrics();
            return BoxedUnit.UNIT;
        });
        // So that a task that is killed ends.
        Iterator<Tuple2<Object, Object>> interruptible = new InterruptibleIterator<>(context, counted);
        return new InterruptibleIterator<>(context, combine(interruptible));
    }

    private Iterator<Tuple2<BlockId, InputStream>> streams() {
        SparkEnv env = SparkEnv.get();
        SparkConf conf = env.conf();
        Clock clock = new SystemClock();
        return new ShuffleBlockFetcherIterator(
                        context,
                        client,
                        env.blockManager(),
                        env.mapOutputTracker(),
                        blocks,
                        (id, stream) -> env.serializerManager().wrapStream(id, stream),
                        // In MiB.
                        number(conf, CONFIG.REDUCER_MAX_SIZE_IN_FLIGHT()) << 20,
                        (int) number(conf, CONFIG.REDUCER_MAX_REQS_IN_FLIGHT()),
                        (int) number(conf, CONFIG.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
                        number(conf, CONFIG.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
                        (int) number(conf, CONFIG.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
                        is(conf, CONFIG.SHUFFLE_DETECT_CORRUPT()),
                        is(conf, CONFIG.SHUFFLE_DETECT_CORRUPT_MEMORY()),
                        is(conf, CONFIG.SHUFFLE_CHECKSUM_ENABLED()),
                        conf.get(CONFIG.SHUFFLE_CHECKSUM_ALGORITHM()),
                        metrics,
                        inBatches && canBeInBatches(conf),
                        clock)
                .toCompletionIterator();
    }

    /** Returns whether the bytes of neighbouring partitions can be read as one stream. */
    private boolean canBeInBatches(SparkConf conf) {
        boolean together = !is(conf, CONFIG.SHUFFLE_COMPRESS())
                || CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(codec(conf));
        return dependency.serializer().supportsRelocationOfSerializedObjects()
                && together
                && !is(conf, CONFIG.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
                && !is(conf, CONFIG.IO_ENCRYPTION_ENABLED());
    }

    private static CompressionCodec codec(SparkConf conf) {
        return CompressionCodec$.MODULE$.createCodec(conf);
    }

    private static long number(SparkConf conf, ConfigEntry<Object> entry) {
        return ((Number) conf.get(entry)).longValue();
    }

    private static boolean is(SparkConf conf, ConfigEntry<Object> entry) {
        return (Boolean) conf.get(entry);
    }

    /** Combines and sorts the records as the shuffle asks for. Of what type they are, its dependency knows. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    private Iterator<Product2<K, C>> combine(Iterator<Tuple2<Object, Object>> records) {
        Option<Aggregator<K, V, C>> aggregator = dependency.aggregator();
        Iterator given = records;
        if (dependency.keyOrdering().isDefined()) {
            Option<Aggregator> merging = (Option) aggregator;
            if (aggregator.isDefined() && dependency.mapSideCombine()) {
                // The writers have combined them before.
                merging = Option.apply(new Aggregator(
                        each -> each,
                        aggregator.get().mergeCombiners(),
                        aggregator.get().mergeCombiners()));
            }
            return new ExternalSorter(
                            context,
                            merging,
                            Option.empty(),
                            dependency.keyOrdering(),
                            dependency.serializer(),
                            new RowBasedChecksum[0])
                    .insertAllAndUpdateMetrics(given);
        }
        if (aggregator.isEmpty()) {
            return given;
        }
        return dependency.mapSideCombine()
                ? aggregator.get().combineCombinersByKey(given, context)
                : aggregator.get().combineValuesByKey(given, context);
    }
}
