package org.rdmapanama.samples.calls;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.rdmapanama.cm.RdmaConnection;

/** What a {@link CallServer} does for its clients. Each client has a thread, so a service must be safe for several. */
public interface Service {
    /** How long a client may be silent by default. */
    Duration SILENCE = Duration.ofSeconds(10);

    /** What is kept for one client. Its methods are called by one thread at a time. */
    interface Client {
        /** Returns what the client is told when its connection is accepted. */
        byte[] greeting();

        /** The connection is established. */
        default void started() {}

        /**
         * Answers a request. The service checks everything in it: anybody may be the client.
         *
         * @param request the request, of at least {@link CallMessage#HEADER} bytes
         * @param answer where the answer goes
         * @return the length of the answer
         * @throws BadRequestException when no client of this program would send that; the connection ends
         */
        int answer(MemorySegment request, MemorySegment answer);

        /** The connection has ended. */
        default void ended() {}
    }

    /** A request that no client of this program would send. */
    final class BadRequestException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /**
         * Creates an exception.
         *
         * @param message what is wrong
         */
        public BadRequestException(String message) {
            super(message);
        }
    }

    /**
     * Looks at what a client says when it asks for a connection.
     *
     * @param privateData what it says
     * @return false to refuse it
     */
    boolean accepts(byte[] privateData);

    /**
     * A client is about to be connected.
     *
     * @param connection the connection, which is not established yet
     * @return what is kept for it
     */
    Client connecting(RdmaConnection connection);

    /** Returns how long a client may be silent before its device is asked whether it is there. */
    default Duration silence() {
        return SILENCE;
    }

    /** Called about ten times a second. */
    default void tick() {}
}
