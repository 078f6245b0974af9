package org.rdmapanama.interleaving;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.stream.Stream;
import org.rdmapanama.ffm.internal.SystemFunctions;

/**
 * Threads of one processor, of which one at a time goes on: to wake up a thread of another processor, which sleeps, takes
 * several times as long. On Linux; elsewhere they are threads as others are.
 */
final class OneProcessor {
    private static final int WORDS = 16;
    private static final MethodHandle CURRENT = handle("sched_getcpu", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle SET =
            handle("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));

    /** That on which the first thread was made. */
    private static final int NUMBER = number();

    private static final ThreadFactory THREADS = work -> new ExploringThread(() -> {
        keep(0);
        work.run();
    });

    static {
        if (NUMBER >= 0) {
            keepJvm();
        }
    }

    private OneProcessor() {}

    /** A thread that lasts. */
    static ExecutorService thread() {
        return Executors.newSingleThreadExecutor(THREADS);
    }

    private static MethodHandle handle(String function, FunctionDescriptor descriptor) {
        return System.getProperty("os.name").equals("Linux") ? SystemFunctions.downcall(function, descriptor) : null;
    }

    private static int number() {
        try {
            return CURRENT == null ? -1 : (int) CURRENT.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Those who end a shared arena wait for that thread of the JVM, which has all others agree. */
    private static void keepJvm() {
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            for (Path each : threads.toList()) {
                if (Files.readString(each.resolve("comm")).equals("VM Thread\n")) {
                    keep(Integer.parseInt(each.getFileName().toString()));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The thread with this number, or the calling thread if it is 0. */
    private static void keep(int thread) {
        if (NUMBER < 0 || NUMBER >= WORDS * Long.SIZE) {
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment processors = arena.allocate(JAVA_LONG, WORDS);
            processors.setAtIndex(JAVA_LONG, NUMBER / Long.SIZE, 1L << NUMBER);
            // It is only slower if this fails.
            int ignored = (int) SET.invokeExact(thread, processors.byteSize(), processors);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
