package org.rdmapanama.samples;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.apache.logging.log4j.LogManager;

/**
 * Makes Ctrl-C end a command in an orderly way: the thread that runs the command is interrupted, and the JVM waits
 * until it has closed its arena. The JVM then exits with status 130 (128 plus the number of SIGINT) by itself.
 */
final class Interruption {
    private static final long SECONDS_TO_CLOSE = 10;

    private Interruption() {}

    /** Runs a command on this thread and exits the JVM with its status. */
    static void runAndExit(IntSupplier command) {
        Thread worker = Thread.currentThread();
        CountDownLatch closed = new CountDownLatch(1);
        Thread hook = new Thread(() -> interruptAndWait(worker, closed), "interruption");
        int status = Failures.INTERRUPTED;
        try {
            // Load Log4j now: it cannot be loaded while the JVM shuts down.
            LogManager.getRootLogger().trace("loaded");
            Runtime.getRuntime().addShutdownHook(hook);
            status = command.getAsInt();
        } catch (IllegalStateException | LinkageError e) {
            if (!isShuttingDown()) {
                throw e;
            }
        } finally {
            closed.countDown();
        }
        // If the JVM is already shutting down, this call blocks, and the signal determines the status.
        System.exit(status);
    }

    private static boolean isShuttingDown() {
        try {
            Runtime.getRuntime().addShutdownHook(new Thread());
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    private static void interruptAndWait(Thread worker, CountDownLatch closed) {
        if (closed.getCount() == 0) {
            return;
        }
        worker.interrupt();
        try {
            if (!closed.await(SECONDS_TO_CLOSE, TimeUnit.SECONDS)) {
                System.err.println("rdma: still not closed after " + SECONDS_TO_CLOSE + " seconds, giving up");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
