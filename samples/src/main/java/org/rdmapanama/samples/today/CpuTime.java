package org.rdmapanama.samples.today;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** How much processor time was used so far, in nanoseconds. */
final class CpuTime {
    private static final Path MACHINE = Path.of("/proc/stat");

    /** Of a tick, of which Linux tells programs a hundred in a second. */
    private static final long TICK_NANOS = 10_000_000L;

    private static final Pattern PROCESSOR = Pattern.compile("cpu\\d");

    // Columns of its first line, the sum of all.
    private static final int IDLE = 4;
    private static final int WAITING = 5;

    private CpuTime() {}

    /** Of all threads that a process has now, its own code's and the kernel's that it called. */
    static long ofProcess(long pid) throws IOException {
        long sum = 0;
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path thread : threads.toList()) {
                try {
                    sum += onProcessor(Files.readString(thread.resolve("schedstat")));
                } catch (NoSuchFileException e) {
                    // The thread has ended.
                }
            }
        }
        return sum;
    }

    static long onProcessor(String schedstat) {
        return Long.parseLong(schedstat.strip().split(" ", -1)[0]);
    }

    /**
     * Of all processors: everything that they did, for whomever. It is what they did not idle away, because the kernel
     * measures only that exactly; in steps of ten milliseconds.
     */
    static long ofMachine() throws IOException {
        return busy(Files.readString(MACHINE), System.nanoTime());
    }

    /** By the contents of /proc/stat at some time; the difference of two counts. */
    static long busy(String stat, long nanoTime) {
        long processors =
                stat.lines().filter(line -> PROCESSOR.matcher(line).lookingAt()).count();
        String[] all = stat.lines().findFirst().orElseThrow().split(" +", -1);
        return processors * nanoTime - (Long.parseLong(all[IDLE]) + Long.parseLong(all[WAITING])) * TICK_NANOS;
    }
}
