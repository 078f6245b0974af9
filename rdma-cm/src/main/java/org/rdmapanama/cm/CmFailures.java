package org.rdmapanama.cm;

import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;

/** Turns failures of librdmacm functions, and events that report failures, into exceptions with a cure. */
final class CmFailures {
    private CmFailures() {}

    /** Throws if a result is negative. The arguments are turned into text only then. */
    static void check(String verb, int result, Object arguments) {
        if (result < 0) {
            throw of(verb, result, arguments.toString());
        }
    }

    static ConnectionException of(String verb, int result, String arguments) {
        return of(verb, result, arguments, "there");
    }

    /** The same of a call that may reach the peer, which is, for example, "at 10.0.0.1:7471". */
    static ConnectionException of(String verb, int result, String arguments, String at) {
        if (-result == Errno.ECONNREFUSED && "rdma_connect".equals(verb)) {
            return new RejectedException(verb, arguments, at);
        }
        return new ConnectionException(verb, -result, arguments, cure(verb, -result));
    }

    /** Returns the exception for an event that reports a failure. */
    static ConnectionException of(String verb, CmEvent event) {
        // The peer's connection manager answers a request for a datagram address with a positive status.
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

    private static @Nullable String cure(String verb, int errno) {
        String special = ConnectionManagers.cure(errno);
        if (special != null) {
            return special;
        }
        return switch (errno) {
            case Errno.ENOENT, Errno.ENODEV ->
                "rdma_create_event_channel".equals(verb)
                        ? "the kernel module rdma_ucm is not loaded: 'modprobe rdma_ucm' loads it"
                        : "no RDMA device has this address: 'rdma link show' of iproute2 lists devices and interfaces";
            case Errno.EACCES, Errno.EPERM -> "this process needs read and write permission on /dev/infiniband/rdma_cm";
            case Errno.EMFILE -> FreeDescriptors.CURE;
            case Errno.EADDRINUSE ->
                "another id, perhaps of another process, is bound to this port: choose another port, or call"
                        + " reuseAddress(true)";
            case Errno.EADDRNOTAVAIL ->
                "this machine does not have that address; or, for the wildcard address, another id is bound to this port at"
                        + " one of the addresses";
            case Errno.ENETUNREACH, Errno.EHOSTUNREACH ->
                "there is no route to this address: check the address and the routing table";
            case Errno.ETIMEDOUT ->
                // Once its address is resolved, a host answers on its network at least.
                "rdma_connect".equals(verb)
                        ? "the peer did not answer in time: check the address, that the peer is running, and that both"
                                + " ends are RoCE or both are iWARP, which do not understand each other"
                        : "the peer did not answer in time: check the address, and that the peer is running";
            default -> null;
        };
    }
}
