package org.rdmapanama.samples.log;

/** The connection of a replica to the primary that it follows. Threads: one. */
interface Session extends AutoCloseable {
    /** Returns whether the primary is there, as far as is known. */
    boolean isUp();

    /** Returns whether the primary waits for the thread of this session. */
    boolean isAwaited();

    /** Catches up, and takes records into the log; returns whether there was anything to do. */
    boolean work() throws InterruptedException;

    @Override
    void close();
}
