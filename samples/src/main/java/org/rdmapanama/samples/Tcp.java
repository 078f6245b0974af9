package org.rdmapanama.samples;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** Connects two programs over TCP. Interrupting the thread ends every wait. */
public final class Tcp {
    /** How many clients may wait until the server accepts them. */
    private static final int BACKLOG = 128;

    private Tcp() {}

    /** The socket on which a server waits for its clients. */
    public static final class Listener implements AutoCloseable {
        private final ServerSocketChannel channel;
        private final int port;

        /**
         * Listens on all addresses.
         *
         * @param port the port
         * @throws IOException if an I/O error occurs
         * @throws Failure if the port is in use
         */
        public Listener(int port) throws IOException {
            this.port = port;
            channel = ServerSocketChannel.open();
            try {
                channel.socket().setReuseAddress(true);
                channel.bind(new InetSocketAddress(port), BACKLOG);
            } catch (BindException e) {
                channel.close();
                throw new Failure(
                        "cannot listen on TCP port " + port + " (" + e.getMessage() + "): choose another with -p", e);
            }
        }

        /**
         * Waits for a client.
         *
         * @param limit how long to wait at most
         * @return the connection
         * @throws IOException if an I/O error occurs
         * @throws Failure if no client came
         */
        public SocketChannel accept(Duration limit) throws IOException {
            try {
                channel.socket().setSoTimeout(millis(limit));
                return channel.socket().accept().getChannel();
            } catch (SocketTimeoutException e) {
                throw new Failure(
                        "no client came to TCP port " + port + " within " + limit.toSeconds()
                                + " s: start one with this host's name, or wait longer with --timeout",
                        e);
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    /**
     * Connects to a server, and retries while none is listening there, so that both sides may be started at once.
     *
     * @param host the host of the server
     * @param port the port of the server
     * @param timeout how long to retry
     * @param whenRefused runs once, if connecting takes longer than usual
     * @return the connection
     * @throws IOException if an I/O error occurs
     * @throws InterruptedException if the thread is interrupted
     * @throws Failure if no server was reached
     */
    public static SocketChannel connect(String host, int port, Duration timeout, Runnable whenRefused)
            throws IOException, InterruptedException {
        InetAddress[] addresses = addressesOf(host);
        Patience patience = new Patience(timeout, whenRefused);
        while (true) {
            IOException failure = null;
            for (InetAddress address : addresses) {
                SocketChannel channel = SocketChannel.open();
                try {
                    channel.socket().connect(new InetSocketAddress(address, port), millis(timeout));
                    return channel;
                } catch (ClosedByInterruptException e) {
                    throw e;
                } catch (IOException e) {
                    channel.close();
                    failure = e;
                }
            }
            if (!(failure instanceof ConnectException) || !patience.goOn()) {
                throw new Failure(
                        "cannot connect to " + host + ":" + port + " (" + failure.getMessage()
                                + "): start the server there first, and check host and port",
                        failure);
            }
        }
    }

    private static InetAddress[] addressesOf(String host) {
        try {
            return InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new Failure("unknown host '" + host + "'", e);
        }
    }

    static int millis(Duration timeout) {
        return (int) Math.min(Integer.MAX_VALUE, timeout.toMillis());
    }
}
