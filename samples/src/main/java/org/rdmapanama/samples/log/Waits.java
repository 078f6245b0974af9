package org.rdmapanama.samples.log;

/** How the threads of nodes wait for memory to change. */
final class Waits {
    private Waits() {}

    /** Between two looks at the memory: nodes share processors with each other and with soft0, where tests run them. */
    @SuppressWarnings("ThreadPriorityCheck")
    static void letOthersRun() {
        Thread.yield();
    }
}
