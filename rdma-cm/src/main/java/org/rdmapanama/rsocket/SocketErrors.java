package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;

/** Turns what an rsocket reports into the exceptions that a user of java.nio channels knows. */
final class SocketErrors {
    private static final int EPERM = 1;
    private static final int EACCES = 13;
    private static final int ENODEV = 19;
    private static final int EADDRINUSE = 98;
    private static final int EADDRNOTAVAIL = 99;
    private static final int ENETUNREACH = 101;
    private static final int ENOTCONN = 107;
    private static final int ETIMEDOUT = 110;
    private static final int ECONNREFUSED = 111;
    private static final int EHOSTUNREACH = 113;

    private SocketErrors() {}

    /**
     * The exception for a failed call.
     *
     * @param errno what it reported, positive
     * @param doing which part of the work failed, for the message
     */
    static IOException of(int errno, String doing) {
        String message = text(errno) + " (" + doing + ")";
        return switch (errno) {
            case ECONNREFUSED, ETIMEDOUT, ENOTCONN -> new ConnectException(message);
            case EHOSTUNREACH, ENETUNREACH -> new NoRouteToHostException(message);
            case ENODEV ->
                new NoRouteToHostException(message
                        + "; no RDMA device has, or leads to, this address: 'rdma link' of iproute2 lists the devices"
                        + " and their network interfaces");
            case EADDRINUSE, EADDRNOTAVAIL, EACCES, EPERM -> new BindException(message);
            default -> new SocketException(message);
        };
    }

    static String text(int errno) {
        return Rsockets.text(errno);
    }
}
