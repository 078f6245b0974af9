package org.rdmapanama.bench;

import java.io.IOException;

/** One way for two processes to exchange messages: an end of it. Both ends poll. */
interface Link extends AutoCloseable {
    /** Bytes of a message that goes back and forth. */
    int MESSAGE = 8;

    /** Bytes that are moved at once when bandwidth counts. */
    int CHUNK = 64 << 10;

    /** What the other end must know to connect: a line without blanks. */
    String place();

    /** Connects to the other end. */
    void connect(String otherPlace) throws IOException;

    /** Sends a message, and waits for the answer. */
    void ping() throws IOException;

    /** Waits for a message, and answers. */
    void pong() throws IOException;

    /** Moves so many chunks to the other end, and returns when they are there. */
    void push(int chunks) throws IOException;

    /** Takes so many chunks, where that needs doing. */
    void take(int chunks) throws IOException;

    @Override
    void close() throws IOException;
}
