package org.rdmapanama.cm;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;

/** Makes exceptions of what functions of librdmacm report. */
final class Failures {
    private Failures() {}

    /** The arguments become text only when it failed. */
    static void check(String verb, int result, Object arguments) {
        if (result < 0) {
            throw of(verb, result, arguments.toString());
        }
    }

    static ConnectionException of(String verb, int result, String arguments) {
        if (-result == Errno.ECONNREFUSED && "rdma_connect".equals(verb)) {
            return new RejectedException(verb, arguments);
        }
        return new ConnectionException(verb, -result, arguments, cure(verb, -result));
    }

    /** For an event that tells of a failure: the exception that says it. */
    static ConnectionException of(String verb, CmEvent event) {
        // To a request for a datagram address the peer's connection manager answers with a positive status.
        if (event.type() == CmEventType.REJECTED || (event.type() == CmEventType.UNREACHABLE && event.status() > 0)) {
            return new RejectedException(verb, event);
        }
        int errno = switch (event.type()) {
            case UNREACHABLE -> event.status() < 0 ? -event.status() : Errno.ETIMEDOUT;
            case DISCONNECTED -> Errno.ECONNRESET;
            case DEVICE_REMOVAL -> Errno.ENODEV;
            default -> event.status() < 0 ? -event.status() : Errno.EIO;
        };
        return new ConnectionException(verb, event, errno, cure(verb, errno));
    }

    private static String cure(String verb, int errno) {
        String special = ConnectionManagers.cure(errno);
        if (special != null) {
            return special;
        }
        return switch (errno) {
            case Errno.ENOENT, Errno.ENODEV ->
                "rdma_create_event_channel".equals(verb)
                        ? "the kernel's module rdma_ucm is needed: 'modprobe rdma_ucm'"
                        : "no RDMA device has this address: 'rdma link show' of iproute2 lists them";
            case Errno.EACCES, Errno.EPERM -> "read and write permission on /dev/infiniband/rdma_cm is needed";
            case Errno.EMFILE -> FreeDescriptors.CURE;
            case Errno.EADDRINUSE -> "another id has this port: choose another, or reuse the address";
            case Errno.EADDRNOTAVAIL -> "this machine does not have that address";
            case Errno.ENETUNREACH, Errno.EHOSTUNREACH -> "check the address, and the route to it";
            case Errno.ETIMEDOUT -> "the peer, or the way to it, does not answer";
            default -> null;
        };
    }
}
