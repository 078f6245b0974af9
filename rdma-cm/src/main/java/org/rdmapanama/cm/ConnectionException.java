package org.rdmapanama.cm;

import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;

/**
 * Something about a connection that failed: a function of librdmacm, or what it was asked for, of which an event told.
 *
 * <p>{@link #verb()} is the function of librdmacm, {@link #errno()} the reason, and {@link #status()} what the event
 * said, word for word.
 */
public class ConnectionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /** What the event said. */
    private final int status;

    /** What the event was. */
    private final CmEventType event;

    /**
     * A function that failed.
     *
     * @param verb the C function, such as {@code rdma_bind_addr}
     * @param errno why it failed, a positive value of errno(3)
     * @param arguments what it was called with, for people to read
     * @param cure what to do about it, or null when that is not known
     */
    ConnectionException(String verb, int errno, String arguments, String cure) {
        super(verb, errno, arguments, cure);
        status = -errno;
        event = null;
    }

    /**
     * An event that tells of a failure.
     *
     * @param verb the C function that had asked for it
     * @param event the event
     * @param errno why it failed, a positive value of errno(3)
     * @param cure what to do about it, or null when that is not known
     */
    ConnectionException(String verb, CmEvent event, int errno, String cure) {
        super(verb, errno, event.toString(), cure);
        status = event.status();
        this.event = event.type();
    }

    private ConnectionException(int code, String arguments, String cure) {
        super("rdma_getaddrinfo", Errno.ENOENT, arguments, cure);
        status = code;
        event = null;
    }

    /** For a code of getaddrinfo(3). */
    static ConnectionException ofNameService(int code, String arguments) {
        String cure = switch (code) {
            case -2 -> "the host or the service is not known there";
            case -3 -> "the name service does not answer: try again later";
            case -8 -> "the service is not known";
            default -> "getaddrinfo(3) says " + code;
        };
        return new ConnectionException(code, arguments, cure);
    }

    /**
     * What the event said: a negated errno, or, for a rejection on InfiniBand and RoCE, the reason that the peer's
     * connection manager gave, such as 28 for a program that rejected and 8 where nobody listens; or, for
     * {@link AddressInfo#resolve}, a code of getaddrinfo(3).
     *
     * @return the status; the negated {@link #errno()} where no event told
     */
    public int status() {
        return status;
    }

    /**
     * The event that told of the failure.
     *
     * @return its type; null where the function itself failed
     */
    public CmEventType event() {
        return event;
    }
}
