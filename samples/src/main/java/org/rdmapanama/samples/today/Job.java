package org.rdmapanama.samples.today;

import java.io.IOException;

/** One side of one transfer, connected to the other side and ready to begin. */
interface Job extends AutoCloseable {
    /** Words for the other side, or for who compares; none with a space in it. */
    String words();

    /**
     * Moves the data. The sending side returns when all of it is in the receiver's memory.
     *
     * @param peer what the other side's {@link #words} were
     */
    void run(String... peer) throws IOException, InterruptedException;

    @Override
    void close() throws IOException;
}
