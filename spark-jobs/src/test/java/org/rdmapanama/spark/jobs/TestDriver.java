package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.SparkSession;

/** A driver that runs scenarios, one after the other, and prints what comes of each: names and values. */
final class TestDriver {
    private static final String RESULT = "ResultTask";
    private static final int LIMIT_SECONDS = 60;

    /** So many that most of them are not read yet when an executor is killed, each of which takes a while. */
    private static final int MANY_PARTITIONS = 16;

    private TestDriver() {}

    public static void main(String... arguments) {
        Path folder = Path.of(System.getProperty("spark.jobs.folder"));
        for (Scenario each : Scenario.values()) {
            say("begin", each);
            try (JavaSparkContext context = new JavaSparkContext(each.conf(folder))) {
                run(each, context, folder);
            } catch (Exception e) {
                fail(e);
            }
            say("end", each);
        }
    }

    private static void say(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    private static void fail(Throwable failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            say("failure", each.toString().lines().findFirst().orElse(""));
        }
    }

    private static void run(Scenario scenario, JavaSparkContext context, Path folder) throws Exception {
        RemoteBytes remote = new RemoteBytes(context.sc());
        Events events = new Events();
        context.sc().addSparkListener(events);
        SparkSession session = SparkSession.builder().config(context.getConf()).getOrCreate();
        for (TestJob each : scenario.jobs()) {
            say(each.toString(), each.run(context, session));
        }
        if (scenario.executors() > 0) {
            ExecutorFigures figures = ExecutorFigures.sum(context, scenario.executors());
            say("remote", remote.soFar());
            say("rdma", figures.rdmaBytes());
            say("fallback", figures.fallbackBytes());
            say("registrations", figures.registrations());
            say("evictions", figures.evictions());
        }
        say("spilled", events.spilled.sum());
        if (scenario == Scenario.PLAIN) {
            say("corrupted", corrupted(context, folder));
            say("killed", killed(context, events));
        }
    }

    /** What has happened. */
    private static final class Events extends SparkListener {
        final LongAdder spilled = new LongAdder();
        final CountDownLatch removed = new CountDownLatch(1);

        /** How many stages were run once more. */
        final AtomicInteger again = new AtomicInteger();

        volatile CountDownLatch reading = new CountDownLatch(1);

        @Override
        public void onTaskEnd(SparkListenerTaskEnd end) {
            if (end.taskMetrics() != null) {
                spilled.add(end.taskMetrics().diskBytesSpilled());
            }
            if (end.taskType().equals(RESULT)) {
                reading.countDown();
            }
        }

        @Override
        public void onStageSubmitted(SparkListenerStageSubmitted submitted) {
            if (submitted.stageInfo().attemptNumber() > 0) {
                again.incrementAndGet();
            }
        }

        @Override
        public void onExecutorRemoved(SparkListenerExecutorRemoved executor) {
            removed.countDown();
        }
    }

    private static JavaPairRDD<Long, Iterable<byte[]>> grouped(JavaSparkContext context, int partitions) {
        return Records.create(context, 0, TestJob.BYTES / Records.BYTES, TestJob.PARTITIONS, Records.Keys.GROUPS)
                .groupByKey(partitions);
    }

    private static Digest digest(JavaPairRDD<Long, Iterable<byte[]>> groups, int pauseMillis) {
        return groups.mapPartitions(all -> {
                    Thread.sleep(pauseMillis);
                    return all;
                })
                .map(group -> {
                    Digest all = Digest.NONE;
                    for (byte[] each : group._2()) {
                        all = all.and(Digest.of(group._1(), Digest.of(each)));
                    }
                    return Digest.of(group._1(), all.records(), all.value());
                })
                .fold(Digest.NONE, Digest::and);
    }

    /** Changes the output of one map task, once it has been written, and been read once. */
    private static Digest corrupted(JavaSparkContext context, Path folder) throws IOException {
        JavaPairRDD<Long, Iterable<byte[]>> groups = grouped(context, TestJob.PARTITIONS);
        groups.count();
        List<Path> outputs;
        try (Stream<Path> all = Files.walk(folder.resolve("blocks"))) {
            outputs = all.filter(each -> each.getFileName().toString().matches("shuffle_\\d+_\\d+_0\\.data"))
                    .sorted((one, other) ->
                            one.toFile().lastModified() < other.toFile().lastModified() ? 1 : -1)
                    .toList();
        }
        try (RandomAccessFile file = new RandomAccessFile(outputs.getFirst().toFile(), "rw")) {
            byte[] bytes = new byte[(int) file.length()];
            file.readFully(bytes);
            // The headers of compressed data stay, and its checksums are wrong.
            for (int i = 100; i < bytes.length; i += 100) {
                bytes[i] ^= 1;
            }
            file.seek(0);
            file.write(bytes);
        }
        return digest(groups, 0);
    }

    /** Kills an executor when the first task has read the shuffle. */
    private static Digest killed(JavaSparkContext context, Events events) throws Exception {
        events.reading = new CountDownLatch(1);
        int before = events.again.get();
        AtomicInteger killed = new AtomicInteger();
        Thread killer = Thread.ofPlatform().start(() -> {
            try {
                if (events.reading.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    // Executors are its only children.
                    ProcessHandle.current().children().findFirst().ifPresent(each -> {
                        if (each.destroyForcibly()) {
                            killed.incrementAndGet();
                        }
                    });
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        Digest digest = digest(grouped(context, MANY_PARTITIONS), 300);
        killer.join();
        say("executors killed", killed);
        say("executor removed", events.removed.await(LIMIT_SECONDS, TimeUnit.SECONDS));
        say("stages again", events.again.get() - before);
        return digest;
    }
}
