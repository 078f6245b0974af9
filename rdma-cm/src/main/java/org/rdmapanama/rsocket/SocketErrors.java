package org.rdmapanama.rsocket;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.nio.channels.AlreadyBoundException;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetBoundException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.ffm.internal.Errno;

/** Turns failures of connections into the exceptions that channels of the JDK throw. */
final class SocketErrors {
    private static final String NO_DEVICE =
            "; no RDMA device reaches this address: 'rdma link' of iproute2 lists the devices"
                    + " and their network interfaces, and 'bin/rdma devices' those of this library";

    private SocketErrors() {}

    /** Returns the exception for an attempt to connect. */
    static IOException connecting(VerbsException failure, InetSocketAddress remote) {
        String detail = " (" + remote + "): " + failure.getMessage();
        if (failure instanceof RejectedException) {
            return because(failure, new ConnectException("Connection refused" + detail));
        }
        return switch (failure.errno()) {
            case Errno.ECONNREFUSED, Errno.ECONNRESET ->
                because(failure, new ConnectException("Connection refused" + detail));
            case Errno.ETIMEDOUT -> because(failure, new ConnectException("Connection timed out" + detail));
            default -> of(failure, detail);
        };
    }

    /** Returns the exception for a server that cannot take a client. */
    static IOException accepting(RuntimeException failure) {
        return because(failure, new SocketException("a client could not be accepted: " + failure.getMessage()));
    }

    /** Returns the exception for an address that cannot be bound. */
    static IOException binding(VerbsException failure, InetSocketAddress local) {
        return of(failure, " (" + local + "): " + failure.getMessage());
    }

    private static IOException of(VerbsException failure, String detail) {
        IOException result = switch (failure.errno()) {
            case Errno.EADDRINUSE -> new BindException("Address already in use" + detail);
            case Errno.EADDRNOTAVAIL -> new BindException("Cannot assign requested address" + detail);
            case Errno.EACCES, Errno.EPERM -> new BindException("Permission denied" + detail);
            case Errno.EHOSTUNREACH, Errno.ENETUNREACH -> new NoRouteToHostException("No route to host" + detail);
            case Errno.ENODEV, Errno.ENXIO -> new NoRouteToHostException("No route to host" + detail + NO_DEVICE);
            default -> new SocketException(failure.getMessage());
        };
        return because(failure, result);
    }

    /**
     * Returns what a socket throws where its channel says that something cannot be done now, or with an address, as the
     * sockets of the JDK's channels do; other exceptions stay as they are.
     */
    static SocketException ofSocket(RuntimeException failure) {
        String text = switch (failure) {
            case NotYetConnectedException e -> "Socket is not connected";
            case AlreadyBoundException e -> "Already bound";
            case AlreadyConnectedException e -> "Already connected";
            case NotYetBoundException e -> "Socket is not bound yet";
            case UnsupportedAddressTypeException e -> "Unsupported address type";
            case UnresolvedAddressException e -> "Unresolved address";
            default -> throw failure;
        };
        return initialized(failure, new SocketException(text));
    }

    /** Returns what a socket throws where an option of its channel cannot be read or set. */
    static SocketException ofOption(IOException failure) {
        return switch (failure) {
            case SocketException known -> known;
            case ClosedChannelException closed -> initialized(closed, new SocketException("Socket is closed"));
            default -> initialized(failure, new SocketException(failure.getMessage()));
        };
    }

    private static SocketException initialized(Throwable cause, SocketException result) {
        result.initCause(cause);
        return result;
    }

    static IOException because(Throwable cause, IOException result) {
        result.initCause(cause);
        return result;
    }
}
