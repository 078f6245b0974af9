package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** Jobs that group the records of a {@link ShuffleJob}, and what happens to them between their writers and readers. */
final class Accidents {
    private static final int LIMIT_SECONDS = 60;

    /** So many that most of them are not read yet when the first one is, each of which takes a while. */
    private static final int MANY_PARTITIONS = 16;

    private static final int PAUSE_MILLIS = 200;

    /** What takes four seconds on a slow link, in blocks of which each takes a fifth of one. */
    private static final int SLOW_BYTES = 16_000_000;

    private static final int SLOW_MAPS = 40;

    /** One for each executor, so that each fetches once. */
    private static final int SLOW_PARTITIONS = 2;

    private static final int TRIES = 10;
    private static final int PAUSE_AFTER_A_TRY_MILLIS = 2000;

    /** Whether this executor has unregistered a shuffle. */
    private static final AtomicBoolean UNREGISTERED = new AtomicBoolean();

    private final JavaSparkContext context;
    private final Events events;
    private final Path folder;

    Accidents(JavaSparkContext context, Events events, Path folder) {
        this.context = context;
        this.events = events;
        this.folder = folder;
    }

    /** Something that happens at a certain time. */
    private interface Accident {
        void happen() throws Exception;
    }

    private JavaPairRDD<Long, Iterable<byte[]>> grouped(int bytes, int maps, int partitions) {
        return Records.create(context, 0, bytes / Records.BYTES, maps, Records.Keys.GROUPS)
                .groupByKey(partitions);
    }

    private JavaPairRDD<Long, Iterable<byte[]>> grouped(int partitions) {
        return grouped(TestJob.BYTES, TestJob.PARTITIONS, partitions);
    }

    private static Digest digest(JavaPairRDD<Long, Iterable<byte[]>> groups, int pauseMillis) {
        return ShuffleJob.ofGroups(groups.mapPartitionsToPair(
                all -> {
                    Thread.sleep(pauseMillis);
                    return all;
                },
                true));
    }

    /** Returns what a job gives to which something happens when a latch opens. */
    private static Digest digest(
            JavaPairRDD<Long, Iterable<byte[]>> groups, int pauseMillis, CountDownLatch when, Accident what)
            throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>(new IllegalStateException("nothing has happened"));
        Thread other = Thread.ofPlatform().start(() -> {
            try {
                if (when.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                    what.happen();
                    failure.set(null);
                }
            } catch (Exception e) {
                failure.set(e);
            }
        });
        Digest digest = digest(groups, pauseMillis);
        other.join();
        if (failure.get() != null) {
            throw failure.get();
        }
        return digest;
    }

    /** Returns what a job gives to which nothing happens. */
    Digest none() {
        return digest(grouped(TestJob.PARTITIONS), 0);
    }

    /** Changes the output of one map task, once it has been written, and been read once. */
    Digest corrupted() throws IOException {
        JavaPairRDD<Long, Iterable<byte[]>> groups = grouped(TestJob.PARTITIONS);
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

    /**
     * Lets both executors unregister the shuffle, and so remove its files, each when its first task has read it. (The driver cannot
     * do so: it would forget the shuffle as well, and Spark waits in vain for what it has forgotten.)
     */
    Digest unregistered() {
        JavaPairRDD<Long, Iterable<byte[]>> groups = grouped(MANY_PARTITIONS);
        Dependency<?> dependency = groups.rdd().dependencies().head();
        while (!(dependency instanceof ShuffleDependency)) {
            dependency = dependency.rdd().dependencies().head();
        }
        int shuffle = ((ShuffleDependency<?, ?, ?>) dependency).shuffleId();
        return digest(
                groups.mapPartitionsToPair(
                        all -> {
                            if (UNREGISTERED.compareAndSet(false, true)) {
                                SparkEnv.get().shuffleManager().unregisterShuffle(shuffle);
                            }
                            return all;
                        },
                        true),
                PAUSE_MILLIS);
    }

    /** Kills an executor when the first task has read the shuffle. */
    Digest killed() throws Exception {
        events.reset();
        Digest digest = digest(grouped(MANY_PARTITIONS), PAUSE_MILLIS, events.read, () -> {
            // Executors are the only children.
            ProcessHandle executor =
                    ProcessHandle.current().children().findFirst().orElseThrow();
            if (!executor.destroyForcibly()) {
                throw new IllegalStateException(executor + " cannot be killed");
            }
        });
        if (!events.removed.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException("Spark does not notice that an executor is killed");
        }
        return digest;
    }

    private JavaPairRDD<Long, Iterable<byte[]>> large() {
        return grouped(SLOW_BYTES, SLOW_MAPS, SLOW_PARTITIONS);
    }

    /** Returns what a job gives whose blocks are large, and which takes seconds on a slow link. */
    Digest withLargeBlocks() {
        return digest(large(), 0);
    }

    /** Reads more slowly than leases last, until a server has ended one of them, and returns what the last job gave. */
    Digest late(ExecutorLogs logs) throws Exception {
        Digest digest = null;
        for (int tries = 0; tries < TRIES && logs.linesWith(ExecutorLogs.KEPT) == 0; tries++) {
            if (tries > 0) {
                // Clients go another way for a while after a failure.
                Thread.sleep(PAUSE_AFTER_A_TRY_MILLIS);
            }
            digest = withLargeBlocks();
        }
        return digest;
    }

    /** Takes the address of the device away when tasks have begun to read. */
    Digest withoutDevice(String address) throws Exception {
        events.reset();
        return digest(large(), 0, events.reading, () -> OwnNetwork.change("delete", address));
    }
}
