package org.rdmapanama.spark.jobs;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.util.ShutdownHookManager;
import scala.runtime.BoxedUnit;

/**
 * Where a run has its files. bin/spark makes it, and it is removed when this process ends, unless the run has failed. Threads:
 * one, and the hooks that run when the process ends.
 */
final class RunFolder {
    /** How often the folder is removed, and the pause behind each attempt. */
    private static final int MOST_REMOVALS = 50;

    private static final long PAUSE_NANOS = 100_000_000;

    /** Before the context of Spark stops. */
    private static final int EARLY = 1000;

    /** After it has stopped. */
    private static final int LATE = 1;

    private static final int LONGEST_END_SECONDS = 20;
    private static final int LONGEST_STOP_SECONDS = 60;

    private enum End {
        FAILURE,
        WITHOUT_FAILURE
    }

    private final Path path = Path.of(System.getProperty("spark.jobs.folder"));
    private final AtomicReference<End> end = new AtomicReference<>();

    /** Reached when Spark has stopped; null if it was never used. */
    private volatile CountDownLatch stopped;

    private RunFolder() {}

    /** Returns the folder of this process, to be removed when it ends. */
    static RunFolder ofProcess() {
        RunFolder folder = new RunFolder();
        // Not a hook of Spark, because those have half a minute for all of them.
        Runtime.getRuntime().addShutdownHook(new Thread(folder::end, "spark-jobs-end"));
        return folder;
    }

    Path path() {
        return path;
    }

    /** Must be called before Spark is used. Not earlier than needed: loading Spark takes longer than a wrong option. */
    void useSpark() {
        CountDownLatch latch = new CountDownLatch(1);
        // An interrupted run also fails, when its Spark stops.
        ShutdownHookManager.addShutdownHook(EARLY, () -> {
            end.compareAndSet(null, End.WITHOUT_FAILURE);
            return BoxedUnit.UNIT;
        });
        ShutdownHookManager.addShutdownHook(LATE, () -> {
            latch.countDown();
            return BoxedUnit.UNIT;
        });
        stopped = latch;
    }

    /** Keeps the folder after a failure. Returns false if the run was interrupted, which explains the failure. */
    boolean keep() {
        return end.compareAndSet(null, End.FAILURE);
    }

    Path log() {
        return path.resolve("spark.log");
    }

    private void end() {
        awaitSpark();
        endExecutors();
        if (end.get() == End.FAILURE) {
            return;
        }
        for (int i = 0; i < MOST_REMOVALS && Files.exists(path); i++) {
            remove();
            // Threads of this process may still start an executor, which makes its part of the folder.
            LockSupport.parkNanos(stopped == null ? 0 : PAUSE_NANOS);
            endExecutors();
        }
        if (Files.exists(path)) {
            System.err.println("spark: " + path + " is left: it cannot be removed");
        }
    }

    private void awaitSpark() {
        try {
            if (stopped != null && !stopped.await(LONGEST_STOP_SECONDS, TimeUnit.SECONDS)) {
                System.err.println("spark: Spark has not stopped within " + LONGEST_STOP_SECONDS + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Executors, which are told to end by now, still write files. */
    private static void endExecutors() {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_END_SECONDS);
        for (ProcessHandle each : ProcessHandle.current().children().toList()) {
            try {
                each.onExit().get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
            } catch (TimeoutException | ExecutionException e) {
                each.destroyForcibly();
                each.onExit().join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private void remove() {
        try {
            Files.walkFileTree(path, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.deleteIfExists(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException e) {
                    // What is removed by others at the same time.
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path folder, IOException e) throws IOException {
                    Files.deleteIfExists(folder);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            // Something was written there meanwhile. The next attempt removes it.
        }
    }
}
