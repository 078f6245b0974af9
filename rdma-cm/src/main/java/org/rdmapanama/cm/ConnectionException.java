package org.rdmapanama.cm;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Errno;

/**
 * Thrown when a function of librdmacm fails, or when an event reports that an operation it started has failed.
 *
 * <p>{@link #verb()} is the function of librdmacm, {@link #errno()} the reason, and {@link #status()} the unchanged
 * status of the event. The message names the local or the remote address of the id, once it has one.
 */
public class ConnectionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /** The status of the event. */
    private final int status;

    /** The type of the event, or null. */
    private final @Nullable CmEventType event;

    /**
     * Reports a function that failed.
     *
     * @param verb the C function, such as {@code rdma_bind_addr}
     * @param errno why it failed, a positive value of errno(3)
     * @param arguments what it was called with, for people to read
     * @param cure what to do about it, or null when that is not known
     */
    ConnectionException(String verb, int errno, String arguments, @Nullable String cure) {
        super(verb, errno, arguments, cure);
        status = -errno;
        event = null;
    }

    /**
     * Reports an event that announces a failure.
     *
     * @param verb the C function that started the operation
     * @param event the event
     * @param errno why it failed, a positive value of errno(3)
     * @param cure what to do about it, or null when that is not known
     */
    ConnectionException(String verb, CmEvent event, int errno, @Nullable String cure) {
        super(verb, errno, describe(event), cure);
        status = event.status();
        this.event = event.type();
    }

    private static String describe(CmEvent event) {
        String group = event.group() == null ? "" : ", group " + event.group();
        return event.id() + group + ", event " + event.type()
                + (event.status() == 0 ? "" : ", status " + event.status());
    }

    private ConnectionException(int code, String arguments, String cure) {
        super("rdma_getaddrinfo", Errno.ENOENT, arguments, cure);
        status = code;
        event = null;
    }

    /** Creates the exception for a code of getaddrinfo(3). */
    static ConnectionException ofNameService(int code, String arguments) {
        String cure = switch (code) {
            case -2 -> "the name service does not know this host or service: check the spelling";
            case -3 -> "the name service did not answer: try again later";
            case -8 -> "the service name is not known: give the port as a number";
            default -> "getaddrinfo(3) returned " + code;
        };
        return new ConnectionException(code, arguments, cure);
    }

    /**
     * Returns the status of the event: a negated errno, or, for a rejection on InfiniBand and RoCE, the reason code
     * that the peer's connection manager sent, such as 28 when the peer's program rejected and 8 when no program
     * listens at that port; for {@link AddressInfo#resolve}, the code of getaddrinfo(3).
     *
     * @return the status; the negated {@link #errno()} if there was no event
     */
    public int status() {
        return status;
    }

    /**
     * Returns the type of the event that reported the failure.
     *
     * @return the type; null when the function itself failed
     */
    public @Nullable CmEventType event() {
        return event;
    }
}
