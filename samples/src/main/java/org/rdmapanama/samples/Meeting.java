package org.rdmapanama.samples;

import java.io.IOException;
import java.time.Duration;

/** A way for the two sides of a transfer to find each other: by address, or over TCP. Threads: one. */
interface Meeting {
    /** Connects to the server, and retries while none is listening, so that both sides may be started at once. */
    TransferConnection connect(TransferLink link) throws IOException, InterruptedException;

    /** Starts to listen, and prints that. */
    Listener listen() throws IOException;

    /** Accepts clients. */
    interface Listener extends AutoCloseable {
        /** Waits for a client, for at most the limit. */
        Client await(Duration limit) throws IOException, InterruptedException;

        @Override
        void close() throws IOException;
    }

    /** A client that has arrived, but is not connected yet. */
    @FunctionalInterface
    interface Client {
        TransferConnection accept(TransferLink link) throws IOException, InterruptedException;
    }
}
