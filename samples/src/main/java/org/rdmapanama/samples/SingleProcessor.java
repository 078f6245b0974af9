package org.rdmapanama.samples;

/** What loops that poll do for others where there is one processor only. */
public final class SingleProcessor {
    private static final boolean ALONE = Runtime.getRuntime().availableProcessors() == 1;

    private SingleProcessor() {}

    /**
     * Yields if there is a single processor: until others run, what the loop waits for cannot happen, and without yielding the
     * loop would use up its time slice. Does nothing where there are more processors.
     */
    @SuppressWarnings("ThreadPriorityCheck") // loops are right without it, but slow
    public static void giveWay() {
        if (ALONE) {
            Thread.yield();
        }
    }
}
