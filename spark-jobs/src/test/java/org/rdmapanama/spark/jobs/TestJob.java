package org.rdmapanama.spark.jobs;

import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/** Jobs of tests, whose results do not depend on the shuffle. */
enum TestJob {
    SORT_BY_KEY((context, session) -> ShuffleJob.SORT.run(context, TestJob.BYTES, TestJob.PARTITIONS)),
    GROUP_BY_KEY((context, session) -> ShuffleJob.GROUP.run(context, TestJob.BYTES, TestJob.PARTITIONS)),
    JOIN((context, session) -> ShuffleJob.JOIN.run(context, TestJob.BYTES, TestJob.PARTITIONS)),
    COGROUP(TestJob::cogroup),

    /** Half of the map tasks write half as much as the others. */
    UNEVEN_MAPS((context, session) -> ShuffleJob.ofGroups(TestJob.unevenGroups(context))),

    /** The writers combine records before the shuffle, and readers afterwards. */
    REDUCE_BY_KEY(
            (context, session) -> Records.create(context, 0, TestJob.RECORDS, TestJob.PARTITIONS, Records.Keys.GROUPS)
                    .mapValues(Digest::of)
                    .reduceByKey(Long::sum, TestJob.PARTITIONS)
                    .map(each -> Digest.of(each._1(), each._2()))
                    .fold(Digest.NONE, Digest::and)),

    /** Most partitions are empty on both sides. */
    EMPTY_PARTITIONS((context, session) -> context.parallelize(List.of(3L, 1L, 2L), 12)
            .mapToPair(number -> new Tuple2<>(number, Digest.mix(number)))
            .groupByKey(40)
            .map(each -> Digest.of(each._1(), each._2().iterator().next()))
            .fold(Digest.NONE, Digest::and)),
    SQL_AGGREGATION((context, session) -> TestJob.aggregate(session, false)),
    SQL_JOIN((context, session) -> TestJob.join(session, false)),

    /** Adaptive execution reads neighbouring partitions together. */
    ADAPTIVE_SQL_AGGREGATION((context, session) -> TestJob.aggregate(session, true)),
    ADAPTIVE_SQL_JOIN((context, session) -> TestJob.join(session, true));

    static final int BYTES = 600_000;
    static final int PARTITIONS = 6;
    private static final int RECORDS = BYTES / Records.BYTES;

    private final BiFunction<JavaSparkContext, SparkSession, Digest> work;

    TestJob(BiFunction<JavaSparkContext, SparkSession, Digest> work) {
        this.work = work;
    }

    Digest run(JavaSparkContext context, SparkSession session) {
        return work.apply(context, session);
    }

    /** Returns groups of records, of which half of the map tasks write half as many as the others. */
    static JavaPairRDD<Long, Iterable<byte[]>> unevenGroups(JavaSparkContext context) {
        return Records.create(context, 0, RECORDS, PARTITIONS, Records.Keys.GROUPS)
                .union(Records.create(context, RECORDS, RECORDS / 2, PARTITIONS, Records.Keys.GROUPS))
                .groupByKey(PARTITIONS);
    }

    private static Digest cogroup(JavaSparkContext context, SparkSession session) {
        JavaPairRDD<Long, byte[]> some = Records.create(context, 0, RECORDS, PARTITIONS, Records.Keys.GROUPS);
        JavaPairRDD<Long, byte[]> others = Records.create(context, RECORDS, RECORDS, PARTITIONS, Records.Keys.NUMBERS);
        return some.cogroup(others, PARTITIONS)
                .map(each -> Digest.of(
                        each._1(),
                        sum(each._2()._1()).value(),
                        sum(each._2()._2()).value()))
                .fold(Digest.NONE, Digest::and);
    }

    private static Digest sum(Iterable<byte[]> values) {
        Digest all = Digest.NONE;
        for (byte[] each : values) {
            all = all.and(Digest.of(Digest.of(each)));
        }
        return all;
    }

    private static Digest aggregate(SparkSession session, boolean adaptive) {
        adapt(session, adaptive);
        return digest(session.range(0, RECORDS, 1, PARTITIONS)
                .selectExpr("id % 977 as k", "id * 7919 % 100003 as v", "sha2(string(id), 256) as s")
                .groupBy("k")
                .agg(org.apache.spark.sql.functions.expr("sum(v)"), org.apache.spark.sql.functions.expr("max(s)")));
    }

    private static Digest join(SparkSession session, boolean adaptive) {
        adapt(session, adaptive);
        Dataset<Row> some =
                session.range(0, RECORDS, 1, PARTITIONS).selectExpr("id as k", "sha2(string(id), 256) as s");
        Dataset<Row> others =
                session.range(0, RECORDS, 2, PARTITIONS).selectExpr("id * 3 as k", "sha2(string(id), 224) as t");
        return digest(some.join(others, "k"));
    }

    private static void adapt(SparkSession session, boolean adaptive) {
        session.conf().set("spark.sql.adaptive.enabled", adaptive);
        // Neither a broadcast nor a local read instead of a shuffle.
        session.conf().set("spark.sql.autoBroadcastJoinThreshold", -1);
        session.conf().set("spark.sql.adaptive.localShuffleReader.enabled", false);
        session.conf().set("spark.sql.shuffle.partitions", 2 * PARTITIONS);
    }

    private static Digest digest(Dataset<Row> rows) {
        return rows.collectAsList().stream()
                .map(row -> Digest.of(Digest.of(row.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8))))
                .reduce(Digest.NONE, Digest::and);
    }
}
