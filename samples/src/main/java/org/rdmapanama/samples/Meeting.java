package org.rdmapanama.samples;

import java.io.IOException;
import java.time.Duration;

/** How the two sides of a transfer find each other: by address, or over TCP. Threads: one. */
interface Meeting {
    /** Connects to the server. While nobody listens there it tries again, so that both may be started at once. */
    TransferConnection connect(TransferLink link) throws IOException, InterruptedException;

    /** Begins to listen, and says so. */
    Listener listen() throws IOException;

    /** Where clients come. */
    interface Listener extends AutoCloseable {
        /** Waits for a client, so long at most. */
        Client await(Duration limit) throws IOException, InterruptedException;

        @Override
        void close() throws IOException;
    }

    /** A client that has come and is not connected yet. */
    @FunctionalInterface
    interface Client {
        TransferConnection accept(TransferLink link) throws IOException, InterruptedException;
    }
}
