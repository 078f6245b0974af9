package org.rdmapanama.spark.jobs;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The processor time that something has used so far. */
final class ProcessorTime {
    private static final Path STATISTICS = Path.of("/proc/stat");
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Of user, nice, system, idle, iowait, irq and softirq: those in which a processor works. */
    private static final int[] WORKING = {1, 2, 3, 6, 7};

    /** What Linux counts in, for programs. */
    private static final double TICKS = 100;

    private ProcessorTime() {}

    /** Returns the seconds of this process, in all its threads, in user mode and in the kernel; it counts in hundredths. */
    static double ofProcess() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return (double) system.getProcessCpuTime() / NANOS;
    }

    /** Returns the seconds of the machine, with those of interrupts; NaN where there is no /proc. */
    static double ofMachine() throws IOException {
        if (!Files.isReadable(STATISTICS)) {
            return Double.NaN;
        }
        String[] fields = Files.readAllLines(STATISTICS).getFirst().split(" +", -1);
        double ticks = 0;
        for (int each : WORKING) {
            ticks += Double.parseDouble(fields[each]);
        }
        return ticks / TICKS;
    }
}
