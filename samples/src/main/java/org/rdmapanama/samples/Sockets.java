package org.rdmapanama.samples;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** Connects channels and lets them listen, with messages that say what to do if that fails. */
public final class Sockets {
    private static final int MAX_PORT = 65535;

    private Sockets() {}

    /**
     * Returns whether a number is one of a port.
     *
     * @param port the number
     * @return whether it is between 1 and 65535
     */
    public static boolean isPort(int port) {
        return port >= 1 && port <= MAX_PORT;
    }

    /**
     * Describes a number that is not one of a port.
     *
     * @param port the number, or what was given instead
     * @return the message
     */
    public static String notAPort(Object port) {
        return "the port must be between 1 and " + MAX_PORT + ", not " + port;
    }

    /**
     * Returns where the port of a host begins. An IPv6 address contains colons, and is in brackets if a port follows.
     *
     * @param text {@code HOST}, {@code HOST:PORT} or {@code [ADDRESS]:PORT}
     * @return the index of the colon before the port, or -1 if there is none
     */
    public static int portColon(String text) {
        int colon = text.lastIndexOf(':');
        boolean hasPort = colon >= 0 && (text.indexOf(':') == colon || text.charAt(Math.max(0, colon - 1)) == ']');
        return hasPort ? colon : -1;
    }

    /**
     * Resolves the name of a host.
     *
     * @param host a name or an address
     * @param port the port
     * @return its address
     * @throws Failure if there is no such host
     */
    public static InetSocketAddress resolve(String host, int port) {
        return Addresses.resolve(host, port);
    }

    /**
     * Connects a channel that is blocking, and closes it if that fails.
     *
     * @param channel the channel
     * @param local the host to bind it to, or null
     * @param server the server
     * @param timeout how long to try
     * @throws Failure if the server cannot be reached in time
     * @throws IOException if connecting fails otherwise
     */
    public static void connect(SocketChannel channel, String local, InetSocketAddress server, Duration timeout)
            throws IOException {
        try {
            if (local != null) {
                channel.bind(resolve(local, 0));
            }
            channel.socket().connect(server, Math.toIntExact(timeout.toMillis()));
        } catch (ConnectException e) {
            throw new Failure(
                    "no server answers at " + Addresses.text(server) + ": start the server there first ("
                            + e.getMessage() + ")",
                    e);
        } catch (NoRouteToHostException | BindException | SocketTimeoutException e) {
            throw new Failure("cannot connect to " + Addresses.text(server) + ": " + e.getMessage(), e);
        } finally {
            if (!channel.isConnected()) {
                channel.close();
            }
        }
    }

    /**
     * Lets a channel listen, and closes it if that fails.
     *
     * @param channel the channel
     * @param local the host to bind it to, or null for all addresses
     * @param port the port
     * @throws Failure if the address cannot be used
     * @throws IOException if listening fails otherwise
     */
    public static void listen(ServerSocketChannel channel, String local, int port) throws IOException {
        InetSocketAddress address = local == null ? new InetSocketAddress(port) : resolve(local, port);
        boolean listening = false;
        try {
            channel.bind(address);
            listening = true;
        } catch (BindException | NoRouteToHostException e) {
            throw new Failure("cannot listen at " + Addresses.text(address) + ": " + e.getMessage(), e);
        } finally {
            if (!listening) {
                channel.close();
            }
        }
    }
}
