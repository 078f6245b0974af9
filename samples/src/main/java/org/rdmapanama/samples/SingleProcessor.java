package org.rdmapanama.samples;

/** What loops that poll do for others where there is one processor only. */
public final class SingleProcessor {
    private static final boolean IS = Runtime.getRuntime().availableProcessors() == 1;

    private SingleProcessor() {}

    /**
     * Lets others run, if there is a single processor: what a loop waits for cannot happen before, and takes a slice of time
     * otherwise, which is milliseconds. Does nothing where there are more.
     */
    @SuppressWarnings("ThreadPriorityCheck") // loops are right without it, but slow
    public static void giveWay() {
        if (IS) {
            Thread.yield();
        }
    }
}
