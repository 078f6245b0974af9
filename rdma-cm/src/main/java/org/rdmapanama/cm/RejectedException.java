package org.rdmapanama.cm;

import org.rdmapanama.ffm.internal.Errno;

/**
 * The peer rejected a connection, or to be asked for its datagram address: its program did, or its connection manager
 * because nobody listens there.
 */
public final class RejectedException extends ConnectionException {
    private static final long serialVersionUID = 1L;

    /** Reason of InfiniBand: the program rejected. */
    private static final int CONSUMER = 28;

    /** Reason of InfiniBand: nobody listens. */
    private static final int INVALID_SERVICE_ID = 8;

    /** Reason of InfiniBand: the program rejected because of options of enhanced connection establishment. */
    private static final int OPTIONS = 35;

    /** For datagrams: nobody listens. */
    private static final int UNSUPPORTED = 1;

    /** For datagrams: the program rejected. */
    private static final int REJECTED = 2;

    private static final String BY_PROGRAM = "the program there rejected the connection";
    private static final String NOBODY = "nobody listens there: check the address, the port and the port space";

    /** What the peer sent along. */
    private final byte[] privateData;

    RejectedException(String verb, CmEvent event) {
        super(verb, event, Errno.ECONNREFUSED, cure(event));
        privateData = event.privateData();
    }

    /** For iWARP, where the connection of TCP is refused while the function waits for it. */
    RejectedException(String verb, String arguments) {
        super(verb, Errno.ECONNREFUSED, arguments, NOBODY);
        privateData = new byte[0];
    }

    private static String cure(CmEvent event) {
        if (event.type() == CmEventType.UNREACHABLE) {
            return switch (event.status()) {
                case UNSUPPORTED -> NOBODY;
                case REJECTED -> BY_PROGRAM;
                default -> null;
            };
        }
        return switch (event.status()) {
            case CONSUMER -> BY_PROGRAM;
            case INVALID_SERVICE_ID -> NOBODY;
            case OPTIONS -> "the program there does not take the options of enhanced connection establishment";
            default -> null;
        };
    }

    /**
     * What the peer's program sent along. InfiniBand and RoCE fill it up with zeros.
     *
     * @return a copy; empty when there is nothing
     */
    public byte[] privateData() {
        return privateData.clone();
    }
}
