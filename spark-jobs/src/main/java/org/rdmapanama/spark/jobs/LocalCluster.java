package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;

/** The settings of a Spark whose executors are processes of this machine that talk to each other by its loopback addresses. */
final class LocalCluster {
    /** The memory of an executor, in MiB. */
    private static final int MEMORY = 1024;

    private LocalCluster() {}

    /**
     * Returns the settings with Spark's own shuffle.
     *
     * @param executors how many executors there are; each runs one task at a time
     * @param folder where Spark has its files
     */
    static SparkConf conf(int executors, Path folder) {
        return new SparkConf(false)
                .setMaster("local-cluster[" + executors + ",1," + MEMORY + "]")
                .setAppName("rdma-spark-jobs")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.local.dir", folder.resolve("blocks").toString())
                .set("spark.ui.enabled", "false")
                // All executors are there when the first stage begins, and take tasks, so that each reads from the
                // others.
                .set("spark.cores.max", Integer.toString(executors))
                .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
                .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
                .set("spark.locality.wait", "0s")
                // Otherwise executors of one machine read each other's files.
                .set("spark.shuffle.readHostLocalDisk", "false");
    }

    /** Lets shuffles go by RDMA, with more settings. */
    static SparkConf byRdma(SparkConf conf, Map<String, String> settings) {
        conf.set("spark.shuffle.manager", "org.rdmapanama.spark.RdmaShuffleManager");
        settings.forEach(conf::set);
        return conf;
    }

    /** Gives executors Spark's jars by their class path, and the others as users do. */
    static SparkConf jars(SparkConf conf, Path modules, Path... others) {
        try (Stream<Path> all = Files.list(modules)) {
            conf.set(
                    "spark.executor.extraClassPath",
                    all.filter(each -> !isOwn(each.getFileName().toString()))
                            .map(Path::toString)
                            .collect(Collectors.joining(":")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return conf.set("spark.jars", Stream.of(others).map(Path::toString).collect(Collectors.joining(",")));
    }

    private static boolean isOwn(String jar) {
        return jar.startsWith("rdma-") || jar.startsWith("ffm-bindings");
    }
}
