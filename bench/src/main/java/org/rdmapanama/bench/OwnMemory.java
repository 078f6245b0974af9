package org.rdmapanama.bench;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The memory use of this JVM. */
final class OwnMemory {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Pattern RESIDENT = Pattern.compile("^VmRSS:\\s+(\\d+) kB", Pattern.MULTILINE);

    /** The serial collector closes small gaps between live objects in one of four collections only. */
    private static final int LEAST_COLLECTIONS = 4;

    private static final int MOST_COLLECTIONS = 8;
    private static final int STABLE = 128;

    private OwnMemory() {}

    /** Returns the total number of heap bytes allocated by this thread. The call itself allocates none. */
    static long allocated() {
        return THREADS.getCurrentThreadAllocatedBytes();
    }

    /** Returns the heap in use, in bytes, after collecting garbage until nothing more is freed. */
    static long heap() {
        long used = Long.MAX_VALUE;
        for (int i = 0; i < MOST_COLLECTIONS; i++) {
            System.gc();
            long now = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
            if (i >= LEAST_COLLECTIONS && now > used - STABLE) {
                return now;
            }
            used = Math.min(used, now);
        }
        return used;
    }

    /** Returns the resident memory of the process, in bytes, including that of native code. */
    static long resident() {
        try {
            return resident(Files.readString(STATUS));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the resident memory", e);
        }
    }

    static long resident(String status) {
        Matcher matcher = RESIDENT.matcher(status);
        if (!matcher.find()) {
            throw new IllegalStateException("no VmRSS in " + STATUS);
        }
        return Long.parseLong(matcher.group(1)) * 1024;
    }
}
