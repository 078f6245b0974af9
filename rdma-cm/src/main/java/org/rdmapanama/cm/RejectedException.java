package org.rdmapanama.cm;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;

/**
 * Thrown when the peer rejects a connection or a request for its datagram address: its program rejected it, or its
 * connection manager did because no program listens at that port.
 */
public final class RejectedException extends ConnectionException {
    private static final long serialVersionUID = 1L;

    /** InfiniBand reason code: the program rejected. */
    private static final int CONSUMER = 28;

    /** InfiniBand reason code: no program listens. */
    private static final int INVALID_SERVICE_ID = 8;

    /** InfiniBand reason code: the program rejected the options of enhanced connection establishment. */
    private static final int OPTIONS = 35;

    /** Status for datagrams: no program listens. */
    private static final int UNSUPPORTED = 1;

    /** Status for datagrams: the program rejected. */
    private static final int REJECTED = 2;

    private static final String NO_LISTENER =
            "nobody listens %s: start the server first, or check the address, the port and the port space";

    private static final String NO_IWARP_LISTENER =
            "nobody listens %s: start the server first, or check the address, the port, and that the server has an iWARP"
                    + " device as well, since one of RoCE does not understand iWARP";

    /** The private data of the rejection. */
    private final byte[] privateData;

    RejectedException(String verb, CmEvent event) {
        super(verb, event, Errno.ECONNREFUSED, cure(event));
        privateData = event.privateData();
    }

    /**
     * For iWARP, where TCP refuses the connection while the function waits for it.
     *
     * @param at where the peer is, such as "at 10.0.0.1:7471"
     */
    RejectedException(String verb, String arguments, String at) {
        super(verb, Errno.ECONNREFUSED, arguments, NO_IWARP_LISTENER.formatted(at));
        privateData = new byte[0];
    }

    private static @Nullable String cure(CmEvent event) {
        String at = event.atPeer();
        String byProgram = "the program " + at + " rejected the connection";
        String noListener = NO_LISTENER.formatted(at);
        if (event.type() == CmEventType.UNREACHABLE) {
            return switch (event.status()) {
                case UNSUPPORTED -> noListener;
                case REJECTED -> byProgram;
                default -> null;
            };
        }
        return switch (event.status()) {
            case CONSUMER -> byProgram;
            case INVALID_SERVICE_ID -> noListener;
            case OPTIONS -> "the program " + at + " does not accept the options of enhanced connection establishment";
            default -> null;
        };
    }

    /**
     * Returns the private data that the peer's program sent with the rejection. InfiniBand and RoCE pad it with zeros.
     *
     * @return a copy; empty if there is none
     */
    public byte[] privateData() {
        return privateData.clone();
    }
}
