package org.rdmapanama.bench;

import java.io.IOException;

/** One end of a connection over which two processes exchange messages. Both ends poll, or both sleep until something comes. */
interface Link extends AutoCloseable {
    /** Size of a message that goes back and forth, in bytes. */
    int MESSAGE = 8;

    /** Number of bytes moved at once to measure bandwidth. */
    int CHUNK = 64 << 10;

    /** Returns what the other end must know to connect: a line without blanks. */
    String place();

    /** Connects to the other end. */
    void connect(String otherPlace) throws IOException;

    /** Sends a message, and waits for the answer. */
    void ping() throws IOException;

    /** Waits for a message, and answers. */
    void pong() throws IOException;

    /** Reads a message from the memory of the other end, which takes no part. */
    default void get() throws IOException {
        throw new UnsupportedOperationException("there is no memory to read");
    }

    /** Moves a number of chunks to the other end, and returns once they have arrived. */
    void push(int chunks) throws IOException;

    /** Receives a number of chunks. */
    void take(int chunks) throws IOException;

    @Override
    void close() throws IOException;
}
