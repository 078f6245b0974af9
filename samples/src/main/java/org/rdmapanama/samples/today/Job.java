package org.rdmapanama.samples.today;

import java.io.IOException;

/** One side of a transfer, connected to the other side and ready to start. */
interface Job extends AutoCloseable {
    /** Returns words for the other side or for the comparison, separated by spaces. */
    String words();

    /**
     * Moves the data. The sending side returns once all of it is in the receiver's memory.
     *
     * @param peer the {@link #words} of the other side
     */
    void run(String... peer) throws IOException, InterruptedException;

    @Override
    void close() throws IOException;
}
