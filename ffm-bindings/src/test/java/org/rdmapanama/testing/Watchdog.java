package org.rdmapanama.testing;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Ends a run of tests in which nothing begins or ends for longer than any test takes: a hang then fails soon, and is named,
 * with what all threads do. The limits of JUnit do not do that: they interrupt a thread, which may be in a call of the kernel
 * that nothing interrupts, and they do not hold for what is done between tests.
 *
 * <p>The system property {@code tests.limit} is the longest time in seconds; without it there is none, because somebody who
 * runs a single test may want it to take hours. JUnit's launcher finds this class as a service.
 */
public final class Watchdog implements TestExecutionListener {
    /** The status of the process. */
    private static final int STATUS = 3;

    /** Where the files of the lab are in its machines. */
    private static final Path LAB = Path.of("/run/lab");

    private static final int MILLIS_TO_PRINT = 3000;

    /** What is shown of a thread. */
    private static final int FRAMES = 25;

    private volatile long since = System.nanoTime();
    private volatile String latest = "nothing yet";

    @Override
    public void testPlanExecutionStarted(TestPlan plan) {
        int limit = Integer.getInteger("tests.limit", 0);
        if (limit > 0) {
            Thread.ofPlatform().name("watchdog").daemon().start(() -> watch(limit));
        }
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        note("beginning", test);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        note("end", test);
    }

    private void note(String what, TestIdentifier test) {
        latest = "the " + what + " of " + test.getUniqueId();
        since = System.nanoTime();
    }

    private void watch(int limit) {
        long start;
        do {
            start = since;
            try {
                Thread.sleep(1000L * limit);
            } catch (InterruptedException e) {
                return;
            }
        } while (since != start);
        PrintStream out = System.out;
        out.println("Watchdog: nothing has happened for " + limit + " s since " + latest + "; this run ends");
        // The thread that runs the tests is among the oldest.
        Thread.getAllStackTraces().entrySet().stream()
                .sorted(Comparator.comparing(each -> each.getKey().threadId()))
                .filter(each -> !each.getKey().equals(Thread.currentThread()))
                .forEach(each -> show(out, each.getKey(), each.getValue()));
        showCallsOfTheKernel(out);
        out.flush();
        if (Files.exists(LAB)) {
            switchOff();
        }
        // Not exit, whose hooks may hang as well.
        Runtime.getRuntime().halt(STATUS);
    }

    /** Ends the lab's machine: a process with a thread that no signal can reach would never end. */
    private static void switchOff() {
        try {
            // What was printed is still on its way to the host.
            Thread.sleep(MILLIS_TO_PRINT);
            Files.writeString(Path.of("/proc/sysrq-trigger"), "o");
            Thread.sleep(MILLIS_TO_PRINT);
        } catch (IOException | InterruptedException e) {
            // Then only this process ends.
        }
    }

    private static void show(PrintStream out, Thread thread, StackTraceElement[] frames) {
        out.println("  " + thread.getName() + " (" + thread.getState() + ")");
        for (int i = 0; i < Math.min(FRAMES, frames.length); i++) {
            out.println("    " + frames[i]);
        }
    }

    /** Shows where threads of all processes are in the kernel, of those that no signal can reach there. */
    private static void showCallsOfTheKernel(PrintStream out) {
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                showCalls(out, process.resolve("task"));
            }
        } catch (IOException e) {
            out.println("  cannot tell what the processes do: " + e);
        }
    }

    private static void showCalls(PrintStream out, Path tasks) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(tasks)) {
            for (Path task : all) {
                String stat = Files.readString(task.resolve("stat"));
                // The state follows the name, which may have anything in it.
                if (stat.startsWith(" D ", stat.lastIndexOf(')') + 1)) {
                    out.println("  uninterruptible: " + stat.substring(0, stat.lastIndexOf(')') + 1));
                    Files.readString(task.resolve("stack")).lines().forEach(line -> out.println("    " + line));
                }
            }
        } catch (IOException gone) {
            // A process that ended meanwhile, or one of another user.
        }
    }
}
