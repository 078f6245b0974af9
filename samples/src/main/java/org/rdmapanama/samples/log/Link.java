package org.rdmapanama.samples.log;

import java.time.Duration;

/**
 * The connection of a primary to one replica that has promised to follow it: first the replica catches up, then the primary
 * sends it what is appended.
 *
 * <p>Threads: one at a time.
 */
interface Link extends AutoCloseable {
    /** Returns what the replica said of itself when it agreed. */
    Greeting.Answer replica();

    /** Returns the index of the last record that the replica has, as the durability demands. */
    long stored();

    /** Returns the file of the replica, which may be read before {@link #join}. */
    Remote remote();

    /** Lets the replica catch up with what is in the log now, and waits for it. */
    void join(Duration timeout) throws InterruptedException;

    /** Returns whether the replica is there, as far as is known. It takes a few microseconds. */
    boolean isUp();

    /**
     * Sends what the replica lacks, as far as that is possible without waiting, and sees what has arrived.
     *
     * @param committed the commit index, of which the replica is told as far as it has the records
     * @return whether anything has changed
     */
    boolean work(long committed);

    @Override
    void close();
}
