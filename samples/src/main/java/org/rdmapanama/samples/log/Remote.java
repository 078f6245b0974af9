package org.rdmapanama.samples.log;

import java.time.Duration;

/** The file of another node. Threads: one at a time. */
interface Remote {
    /** Reads a part of it to the same place of the file of this node. */
    void read(long offset, int length, Duration timeout) throws InterruptedException;

    /** Reads a few bytes of it. */
    byte[] bytes(long offset, int length, Duration timeout) throws InterruptedException;

    /** Returns where it is. */
    @Override
    String toString();
}
