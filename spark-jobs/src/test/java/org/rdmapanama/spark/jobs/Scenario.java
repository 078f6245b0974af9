package org.rdmapanama.spark.jobs;

import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;

/** A configuration of Spark, and what runs with it. */
enum Scenario {
    /** Spark's own shuffle: what the others are compared with. */
    SPARK(false, 0, Map.of(), EnumSet.allOf(TestJob.class)),
    PLAIN(true, 2, Map.of(), EnumSet.allOf(TestJob.class)),
    WITHOUT_EXECUTORS(true, 0, Map.of(), EnumSet.of(TestJob.GROUP_BY_KEY)),
    UNCOMPRESSED_AND_SPILLED(
            true,
            2,
            Map.of(
                    "spark.shuffle.compress",
                    "false",
                    "spark.shuffle.spill.compress",
                    "false",
                    "spark.shuffle.spill.numElementsForceSpillThreshold",
                    "500",
                    // Whose records may be moved, so that several partitions can be read together.
                    "spark.serializer",
                    "org.apache.spark.serializer.KryoSerializer"),
            EnumSet.allOf(TestJob.class)),

    /** And packets are lost, sent twice, overtaken by others, and changed. */
    ENCRYPTED_FILES(
            true,
            2,
            Map.of(
                    "spark.io.encryption.enabled",
                    "true",
                    "spark.executor.extraJavaOptions",
                    Scenario.SHORT_LIVED
                            + " -Dorg.rdmapanama.soft.faults=loss=0.05,duplicate=0.02,reorder=0.02,corrupt=0.02,seed=7"),
            EnumSet.of(TestJob.SORT_BY_KEY, TestJob.GROUP_BY_KEY, TestJob.ADAPTIVE_SQL_AGGREGATION)),
    ENCRYPTED_NETWORK(
            true,
            2,
            Map.of(
                    "spark.authenticate", "true",
                    "spark.authenticate.secret", "between us",
                    "spark.network.crypto.enabled", "true"),
            EnumSet.of(TestJob.GROUP_BY_KEY)),
    NOTHING_PINNED(true, 2, Map.of("spark.rdma.pinned", "0"), EnumSet.of(TestJob.GROUP_BY_KEY)),

    /** Room for some of the files and blocks. */
    LITTLE_MEMORY(
            true,
            2,
            Map.of("spark.rdma.pinned", "250k", "spark.rdma.buffers", "64k"),
            EnumSet.of(TestJob.SORT_BY_KEY, TestJob.GROUP_BY_KEY)),

    /** So slow a link that leases end while tasks read. */
    SLOW_LINK(
            true,
            2,
            Map.of(
                    "spark.rdma.connectTimeout",
                    "10s",
                    "spark.rdma.fetchTimeout",
                    "900ms",
                    "spark.rdma.lease",
                    "1s",
                    "spark.executor.extraJavaOptions",
                    Scenario.SHORT_LIVED + " -Dorg.rdmapanama.soft.faults=rate=1,queue=1024"),
            EnumSet.noneOf(TestJob.class)),

    /** Spark's external shuffle service, which has the files of executors that are gone. It is part of the driver here. */
    SHUFFLE_SERVICE(
            true,
            2,
            Map.of(
                    "spark.shuffle.service.enabled",
                    "true",
                    // More at once is streamed.
                    "spark.network.maxRemoteBlockSizeFetchToMem",
                    "110k"),
            EnumSet.of(TestJob.GROUP_BY_KEY)),

    /** Small blocks are pushed to the shuffle service, which merges those of a partition; large ones are not. */
    MERGED(
            true,
            MergingCluster.EXECUTORS,
            Map.of(
                    "spark.master",
                    MergingCluster.MASTER,
                    // Otherwise Spark pushes on YARN only.
                    "spark.testing",
                    "true",
                    "spark.shuffle.service.enabled",
                    "true",
                    "spark.shuffle.push.enabled",
                    "true",
                    "spark.shuffle.push.maxBlockSizeToPush",
                    "12k",
                    "spark.shuffle.push.minShuffleSizeToWait",
                    "0",
                    "spark.shuffle.push.server.minChunkSizeInMergedShuffleFile",
                    "20k",
                    "spark.serializer",
                    "org.apache.spark.serializer.KryoSerializer"),
            EnumSet.of(TestJob.UNEVEN_MAPS, TestJob.JOIN, TestJob.ADAPTIVE_SQL_AGGREGATION)),

    /** An address for examples, which no machine has. */
    NO_DEVICE(true, 2, Map.of("spark.rdma.address", "192.0.2.1"), EnumSet.of(TestJob.GROUP_BY_KEY)),
    REQUIRED_DEVICE(
            true,
            0,
            Map.of("spark.rdma.address", "192.0.2.1", "spark.rdma.required", "true", "spark.task.maxFailures", "1"),
            EnumSet.of(TestJob.GROUP_BY_KEY)),
    UNKNOWN_SETTING(true, 0, Map.of("spark.rdma.pined", "1g"), EnumSet.noneOf(TestJob.class));

    /** What the second compiler makes is not used for long. */
    static final String SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData";

    /** Tests require that nothing comes by TCP, also on a machine that has other things to do. */
    static final Map<String, String> PATIENT =
            Map.of("spark.rdma.connectTimeout", "120s", "spark.rdma.fetchTimeout", "120s", "spark.rdma.lease", "300s");

    private final boolean byRdma;
    private final int executors;
    private final Map<String, String> settings;
    private final Set<TestJob> jobs;

    Scenario(boolean byRdma, int executors, Map<String, String> settings, Set<TestJob> jobs) {
        this.byRdma = byRdma;
        this.executors = executors;
        this.settings = settings;
        this.jobs = jobs;
    }

    Set<TestJob> jobs() {
        return jobs;
    }

    /** Returns how many executors there are; 0 if tasks run in the driver. */
    int executors() {
        return executors;
    }

    /**
     * Returns the configuration.
     *
     * @param folder where Spark has its files
     * @param address where executors listen for RDMA
     */
    SparkConf conf(Path folder, String address) {
        SparkConf conf = LocalCluster.conf(Math.max(1, executors), folder)
                .set("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .set("spark.executor.extraJavaOptions", SHORT_LIVED)
                // Otherwise a task waits for 15 seconds until it believes that an executor is gone.
                .set("spark.shuffle.io.retryWait", "300ms")
                // Stages run again as often as faults make them.
                .set("spark.stage.maxConsecutiveAttempts", "20")
                .set("spark.sql.warehouse.dir", folder.resolve("tables").toString());
        if (executors == 0) {
            conf.setMaster("local[2]");
        }
        if (byRdma) {
            LocalCluster.byRdma(conf, PATIENT).set("spark.rdma.address", address);
        }
        settings.forEach(conf::set);
        return conf;
    }
}
