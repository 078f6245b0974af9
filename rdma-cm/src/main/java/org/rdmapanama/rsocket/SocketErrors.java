package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import org.rdmapanama.ffm.internal.Errno;

/** Turns errnos of rsocket functions into the exceptions that java.nio channels throw. */
final class SocketErrors {
    private static final String NO_DEVICE =
            "rsockets need an RDMA device of the kernel, and librdmacm found none (soft0"
                    + " does not support rsockets): set one up, such as Soft-RoCE with 'rdma link add rxe0 type rxe netdev eth0',"
                    + " and load rdma_ucm with 'modprobe rdma_ucm'";

    private SocketErrors() {}

    /**
     * Returns the exception for a failed call.
     *
     * @param errno the errno, positive
     * @param doing the call that failed, for the message
     */
    static IOException of(int errno, String doing) {
        String message = text(errno) + " (" + doing + ")";
        return switch (errno) {
            case Errno.ECONNREFUSED, Errno.ETIMEDOUT, Errno.ENOTCONN -> new ConnectException(message);
            case Errno.EHOSTUNREACH, Errno.ENETUNREACH -> new NoRouteToHostException(message);
            case Errno.ENODEV ->
                new NoRouteToHostException(message
                        + "; no RDMA device reaches this address: 'rdma link' of iproute2 lists the devices and their network"
                        + " interfaces");
            case Errno.EADDRINUSE, Errno.EADDRNOTAVAIL, Errno.EACCES, Errno.EPERM -> new BindException(message);
            default -> new SocketException(message);
        };
    }

    /**
     * Returns the exception for an rsocket that could not be opened.
     *
     * @param errno the errno of rsocket, positive
     */
    static IOException notOpened(int errno) {
        return switch (errno) {
            case Errno.ENODEV -> new NoRouteToHostException(NO_DEVICE);
            case Errno.ENOENT -> new SocketException(NO_DEVICE);
            case Errno.EACCES, Errno.EPERM ->
                new BindException(text(errno)
                        + " (rsocket); this process needs read and write permission on /dev/infiniband/rdma_cm");
            default -> of(errno, "rsocket");
        };
    }

    static String text(int errno) {
        return Rsockets.text(errno);
    }
}
