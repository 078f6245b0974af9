package org.rdmapanama.cm;

import org.rdmapanama.cm.internal.Native;

/** Makes exceptions of what functions of librdmacm report. */
final class Failures {
    private Failures() {}

    static void check(String verb, int result, String arguments) {
        if (result < 0) {
            throw of(verb, result, arguments);
        }
    }

    static ConnectionException of(String verb, int result, String arguments) {
        return new ConnectionException(verb, -result, arguments, cure(verb, -result));
    }

    /** For an event that tells of a failure: the exception that says it. */
    static ConnectionException of(String verb, CmEvent event) {
        // To a request for a datagram address the peer's connection manager answers with a positive status.
        if (event.type() == CmEventType.REJECTED || (event.type() == CmEventType.UNREACHABLE && event.status() > 0)) {
            return new RejectedException(verb, event);
        }
        int errno = switch (event.type()) {
            case UNREACHABLE -> event.status() < 0 ? -event.status() : Native.ETIMEDOUT;
            case DISCONNECTED -> Native.ECONNRESET;
            case DEVICE_REMOVAL -> Native.ENODEV;
            default -> event.status() < 0 ? -event.status() : Native.EIO;
        };
        return new ConnectionException(verb, event, errno, cure(verb, errno));
    }

    private static String cure(String verb, int errno) {
        return switch (errno) {
            case Native.ENOENT, Native.ENODEV ->
                "rdma_create_event_channel".equals(verb)
                        ? "the kernel's module rdma_ucm is needed: 'modprobe rdma_ucm'"
                        : "no RDMA device has this address: see 'rdma link show'";
            case Native.EACCES, Native.EPERM -> "read and write permission on /dev/infiniband/rdma_cm is needed";
            case Native.EMFILE -> "too many files are open: see 'ulimit -n'";
            case Native.EADDRINUSE -> "another id has this port: choose another, or reuse the address";
            case Native.EADDRNOTAVAIL -> "this machine does not have that address";
            case Native.ENETUNREACH, Native.EHOSTUNREACH -> "check the address, and the route to it";
            case Native.ETIMEDOUT -> "the peer, or the way to it, does not answer";
            default -> null;
        };
    }
}
