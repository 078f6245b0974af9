package org.rdmapanama.samples.perf;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** How much of the time a thread had a processor. A thread that polls wants one all the time. Threads: one. */
final class ProcessorShare {
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private long startOnProcessor;
    private long start;
    private long onProcessor;
    private long elapsed;

    void begin() {
        start = System.nanoTime();
        startOnProcessor = threads.getCurrentThreadCpuTime();
    }

    void end() {
        onProcessor += threads.getCurrentThreadCpuTime() - startOnProcessor;
        elapsed += System.nanoTime() - start;
    }

    /** Returns the share of all the time between begin and end: 1 if nothing else ran on that processor. */
    double value() {
        return elapsed == 0 ? 1 : (double) onProcessor / elapsed;
    }
}
