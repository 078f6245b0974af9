package org.rdmapanama.samples;

import java.io.IOException;

/** Where the clients of a server come in. Threads: the one of the server. */
interface Entrance extends AutoCloseable {
    /** Returns a client that is connected, or null if there is none now. Does not wait. */
    ServedTransfer next() throws IOException, InterruptedException;

    /** Says where no client came, and what to do. */
    String nobodyCame();

    @Override
    void close() throws IOException;
}
