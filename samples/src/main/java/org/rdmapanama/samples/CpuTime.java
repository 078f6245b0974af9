package org.rdmapanama.samples;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Processor time used so far, in nanoseconds. */
public final class CpuTime {
    private static final Path MACHINE = Path.of("/proc/stat");

    /** The resolution of {@link #ofMachine}: a tick; Linux reports a hundred ticks per second to programs. */
    public static final long TICK_NANOS = 10_000_000L;

    private static final Pattern PROCESSOR = Pattern.compile("cpu\\d");

    // Columns of the first line of /proc/stat, which sums up all processors.
    private static final int IDLE = 4;
    private static final int WAITING = 5;

    private CpuTime() {}

    /**
     * Returns the processor time of all current threads of a process, in user code and in the kernel.
     *
     * @param pid the process
     * @return the nanoseconds
     * @throws IOException if there is no such process
     */
    public static long ofProcess(long pid) throws IOException {
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

    /** Returns the processor time of all threads of this process, also of those that have ended, in nanoseconds. */
    public static long ofThisProcess() {
        return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
    }

    static long onProcessor(String schedstat) {
        return Long.parseLong(schedstat.strip().split(" ", -1)[0]);
    }

    /**
     * Returns the busy time of all processors, whatever they worked for. It is computed from their idle time, which is the
     * only time that the kernel measures exactly; in steps of ten milliseconds.
     *
     * @return the nanoseconds, of which only the difference of two results is meaningful
     * @throws IOException if the kernel does not tell
     */
    public static long ofMachine() throws IOException {
        return busy(Files.readString(MACHINE), System.nanoTime());
    }

    /** Parses the contents of /proc/stat; only the difference of two results is meaningful. */
    static long busy(String stat, long nanoTime) {
        long processors =
                stat.lines().filter(line -> PROCESSOR.matcher(line).lookingAt()).count();
        String[] all = stat.lines().findFirst().orElseThrow().split(" +", -1);
        return processors * nanoTime - (Long.parseLong(all[IDLE]) + Long.parseLong(all[WAITING])) * TICK_NANOS;
    }
}
