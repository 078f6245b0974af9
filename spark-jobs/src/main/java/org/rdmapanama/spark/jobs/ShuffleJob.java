package org.rdmapanama.spark.jobs;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** A job that spends most of its time on a shuffle. */
enum ShuffleJob {
    /** Sorts records with different keys; their order counts. */
    SORT {
        @Override
        Digest run(JavaSparkContext context, long bytes, int partitions) {
            List<Digest> sorted = Records.create(context, 0, bytes / Records.BYTES, partitions, Records.Keys.RANDOM)
                    .sortByKey(true, partitions)
                    .mapPartitions(records -> {
                        Digest all = Digest.NONE;
                        while (records.hasNext()) {
                            var each = records.next();
                            all = all.then(Digest.of(each._1(), Digest.of(each._2())));
                        }
                        return List.of(all).iterator();
                    })
                    .collect();
            return sorted.stream().reduce(Digest.NONE, Digest::then);
        }
    },

    /** Groups records of which a hundred have the same key. */
    GROUP {
        @Override
        Digest run(JavaSparkContext context, long bytes, int partitions) {
            return ofGroups(Records.create(context, 0, bytes / Records.BYTES, partitions, Records.Keys.GROUPS)
                    .groupByKey(partitions));
        }
    },

    /** Joins two halves of the records by keys of which each half has some for itself. */
    JOIN {
        @Override
        Digest run(JavaSparkContext context, long bytes, int partitions) {
            long half = bytes / Records.BYTES / 2;
            JavaPairRDD<Long, byte[]> some = Records.create(context, 0, half, partitions, Records.Keys.NUMBERS);
            JavaPairRDD<Long, byte[]> others =
                    Records.create(context, half / 2, half, partitions, Records.Keys.NUMBERS);
            return some.join(others, partitions)
                    .map(each -> Digest.of(
                            each._1(),
                            Digest.of(each._2()._1()),
                            Digest.of(each._2()._2())))
                    .fold(Digest.NONE, Digest::and);
        }
    },

    /**
     * Two map tasks of which one has nearly all bytes, for the first partition. Each partition is read twice, so that one of those
     * that read the first is in another executor than the bytes.
     */
    ENORMOUS {
        @Override
        Digest run(JavaSparkContext context, long bytes, int partitions) {
            JavaRDD<Digest> digests = Records.enormous(context, bytes, partitions)
                    .map(each -> Digest.of(each._1(), Digest.of(each._2())));
            return digests.union(digests).fold(Digest.NONE, Digest::and);
        }

        @Override
        Map<String, String> settings() {
            return Map.of(
                    // The bytes are random.
                    "spark.shuffle.compress",
                    "false",
                    // Otherwise the task that reads the first partition runs where its bytes are.
                    "spark.shuffle.reduceLocality.enabled",
                    "false",
                    // The other partitions of the file are read by RDMA only if all of it may be registered.
                    "spark.rdma.pinned",
                    "64g");
        }
    };

    /**
     * Runs the job.
     *
     * @param context where it runs
     * @param bytes how many bytes the records have that it works on
     * @param partitions how many partitions there are before the shuffle, and after it
     * @return what it gives
     */
    abstract Digest run(JavaSparkContext context, long bytes, int partitions);

    /** Returns the settings of Spark and of RDMA that the job needs. */
    Map<String, String> settings() {
        return Map.of();
    }

    /** Returns what groups of records give, whatever their order. */
    static Digest ofGroups(JavaPairRDD<Long, Iterable<byte[]>> groups) {
        return groups.map(group -> {
                    Digest all = Digest.NONE;
                    for (byte[] each : group._2()) {
                        all = all.and(Digest.of(group._1(), Digest.of(each)));
                    }
                    return Digest.of(group._1(), all.records(), all.value());
                })
                .fold(Digest.NONE, Digest::and);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
