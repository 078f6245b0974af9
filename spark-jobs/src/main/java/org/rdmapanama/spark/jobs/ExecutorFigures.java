package org.rdmapanama.spark.jobs;

import com.codahale.metrics.Gauge;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.metrics.source.Source;
import scala.Tuple2;

/**
 * What executors have done since they started.
 *
 * @param cpuNanos the processor time of the process
 * @param rdmaBytes the bytes of shuffles that came by RDMA READ
 * @param fallbackBytes those that this shuffle manager fetched otherwise
 * @param fallbackBlocks how many blocks these were
 * @param registrations how often it has registered a file
 * @param evictions how often a file has made room for another
 */
record ExecutorFigures(
        long cpuNanos, long rdmaBytes, long fallbackBytes, long fallbackBlocks, long registrations, long evictions) {
    private static final int TRIES = 50;
    private static final int PAUSE_MILLIS = 20;

    /**
     * Asks all executors, by a job of which each of them runs a task.
     *
     * @param executors how many there are
     * @return the figures by the names of the executors
     * @throws IllegalStateException when not all of them have run a task
     */
    static Map<String, ExecutorFigures> ask(JavaSparkContext context, int executors) {
        Map<String, ExecutorFigures> found = new HashMap<>();
        for (int tries = 0; found.size() < executors; tries++) {
            if (tries == TRIES) {
                throw new IllegalStateException("of " + executors + " executors only " + found.keySet() + " run tasks");
            }
            context.parallelize(IntStream.range(0, executors).boxed().toList(), executors)
                    .map(task -> {
                        // So that the others do not run on this executor.
                        Thread.sleep(PAUSE_MILLIS);
                        return new Tuple2<>(SparkEnv.get().executorId(), here());
                    })
                    .collect()
                    .forEach(each -> found.put(each._1(), of(each._2())));
        }
        return found;
    }

    /** Returns the sum of all executors. */
    static ExecutorFigures sum(JavaSparkContext context, int executors) {
        return ask(context, executors).values().stream()
                .reduce(new ExecutorFigures(0, 0, 0, 0, 0, 0), (one, other) -> one.plus(other, 1));
    }

    /** Returns what has come since an earlier time. */
    ExecutorFigures since(ExecutorFigures earlier) {
        return plus(earlier, -1);
    }

    private ExecutorFigures plus(ExecutorFigures other, int times) {
        return new ExecutorFigures(
                cpuNanos + times * other.cpuNanos,
                rdmaBytes + times * other.rdmaBytes,
                fallbackBytes + times * other.fallbackBytes,
                fallbackBlocks + times * other.fallbackBlocks,
                registrations + times * other.registrations,
                evictions + times * other.evictions);
    }

    double cpuSeconds() {
        return (double) cpuNanos / (double) TimeUnit.SECONDS.toNanos(1);
    }

    /** Returns the figures of this executor, in the order of the parameters. */
    private static long[] here() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new long[] {
            system.getProcessCpuTime(),
            metric("rdma.bytes"),
            metric("fallback.bytes"),
            metric("fallback.blocks"),
            metric("registrations"),
            metric("evictions")
        };
    }

    private static ExecutorFigures of(long... values) {
        int next = 0;
        return new ExecutorFigures(
                values[next++], values[next++], values[next++], values[next++], values[next++], values[next]);
    }

    /** Returns a metric of the shuffle manager; 0 if it has none, because another one is used. */
    private static long metric(String name) {
        List<Source> sources = scala.jdk.javaapi.CollectionConverters.asJava(
                SparkEnv.get().metricsSystem().getSourcesByName("RdmaShuffle"));
        if (sources.isEmpty()) {
            return 0;
        }
        Gauge<?> gauge = sources.getFirst().metricRegistry().getGauges().get(name);
        return ((Number) gauge.getValue()).longValue();
    }
}
