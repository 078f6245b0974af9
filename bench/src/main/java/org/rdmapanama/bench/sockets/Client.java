package org.rdmapanama.bench.sockets;

import java.io.Closeable;
import java.io.IOException;

/** The end that measures. The other one, in another process, echoes messages, or takes chunks. */
interface Client extends Closeable {
    /** Size of a message that goes back and forth, in bytes. */
    int MESSAGE = 64;

    /** Sends a message and waits for it to come back, so many times. */
    void pings(int count) throws IOException, InterruptedException;

    /** Sends {@link Settings#chunks} chunks, and waits until they have arrived. */
    void push() throws IOException, InterruptedException;
}
