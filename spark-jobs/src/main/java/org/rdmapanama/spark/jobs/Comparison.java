package org.rdmapanama.spark.jobs;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** Runs jobs with Spark's shuffle and by RDMA in turns, and compares what they give. */
final class Comparison {
    /** The ways of a shuffle. */
    enum Way {
        SPARK("Spark's"),
        RDMA("RDMA");

        private final String title;

        Way(String title) {
            this.title = title;
        }

        @Override
        public String toString() {
            return title;
        }
    }

    private final List<ShuffleJob> jobs;
    private final long bytes;
    private final int partitions;
    private final int executors;
    private final int repeats;
    private final PrintStream progress;
    private final Map<ShuffleJob, Map<Way, List<Run>>> runs = new EnumMap<>(ShuffleJob.class);

    Comparison(List<ShuffleJob> jobs, long bytes, int partitions, int executors, int repeats, PrintStream progress) {
        this.jobs = jobs;
        this.bytes = bytes;
        this.partitions = partitions;
        this.executors = executors;
        this.repeats = repeats;
        this.progress = progress;
    }

    /**
     * Runs all jobs in each way, in new executors: once to warm these up, and then to measure.
     *
     * @param round the number of the round, from 0; which way is first depends on it
     * @param confs gives the settings for a way
     * @throws IllegalStateException when the results of two runs differ
     */
    void round(int round, Function<Way, SparkConf> confs) throws TimeoutException {
        for (int turn = 0; turn < 2; turn++) {
            Way way = Way.values()[(round + turn) % 2];
            try (JavaSparkContext context = new JavaSparkContext(confs.apply(way))) {
                RemoteBytes remote = new RemoteBytes(context.sc());
                for (ShuffleJob job : jobs) {
                    run(context, remote, job);
                    for (int i = 0; i < repeats; i++) {
                        add(job, way, run(context, remote, job));
                    }
                }
            }
        }
    }

    private void add(ShuffleJob job, Way way, Run run) {
        progress.printf(Locale.ROOT, "%s, %s shuffle: %.2f s%n", job, way, run.seconds());
        runs.computeIfAbsent(job, each -> new EnumMap<>(Way.class))
                .computeIfAbsent(way, each -> new ArrayList<>())
                .add(run);
        Digest first = runs.get(job).values().iterator().next().getFirst().digest();
        if (!run.digest().equals(first)) {
            throw new IllegalStateException(
                    job + " gave " + run.digest() + " with " + way + " shuffle, and " + first + " before");
        }
    }

    private Run run(JavaSparkContext context, RemoteBytes remote, ShuffleJob job) throws TimeoutException {
        ExecutorFigures before = ExecutorFigures.sum(context, executors);
        long bytesBefore = remote.soFar();
        long start = System.nanoTime();
        Digest digest = job.run(context, bytes, partitions);
        double seconds = (double) (System.nanoTime() - start) / (double) TimeUnit.SECONDS.toNanos(1);
        return new Run(
                seconds,
                digest,
                remote.soFar() - bytesBefore,
                ExecutorFigures.sum(context, executors).since(before));
    }

    /** Returns the median runs as a table. */
    String table() {
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT,
                "%-6s %9s %9s %6s %12s %8s %12s %12s%n",
                "job",
                "Spark's s",
                "RDMA s",
                "ratio",
                "MiB of other",
                "by RDMA",
                "CPU Spark's",
                "CPU RDMA"));
        for (ShuffleJob job : jobs) {
            double spark = median(job, Way.SPARK, Run::seconds);
            double rdma = median(job, Way.RDMA, Run::seconds);
            double remote = median(job, Way.RDMA, run -> (double) run.remoteBytes());
            double read = median(job, Way.RDMA, run -> (double) run.figures().rdmaBytes());
            table.append(String.format(
                    Locale.ROOT,
                    "%-6s %9.2f %9.2f %6.2f %12.1f %7.1f%% %10.2f s %10.2f s%n",
                    job,
                    spark,
                    rdma,
                    rdma / spark,
                    remote / (1 << 20),
                    remote == 0 ? 0 : 100 * read / remote,
                    median(job, Way.SPARK, run -> run.figures().cpuSeconds()),
                    median(job, Way.RDMA, run -> run.figures().cpuSeconds())));
        }
        return table.toString();
    }

    private double median(ShuffleJob job, Way way, Function<Run, Double> value) {
        return Medians.of(runs.get(job).get(way).stream().mapToDouble(value::apply));
    }
}
