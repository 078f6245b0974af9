package org.rdmapanama.samples;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.rdmapanama.address.Endpoint;

/**
 * The TCP connection over which two programs exchange their endpoints, with the protocol of rdma-core's ping-pong
 * programs: the client sends its line, the server connects its queue pair and answers with its own line, and the client
 * says "done". Every message ends with a zero byte, like a C string. Two programs of this project exchange longer lines
 * than the C programs can read.
 *
 * <p>Threads: one at a time. Interrupting the thread ends every wait and closes the connection.
 */
final class EndpointExchange implements AutoCloseable {
    private static final String DONE = "done";

    // What the peer says.
    private static final String ADDRESS = "the address of its queue pair";
    private static final String CONNECTED = "that it is connected";

    /** How much of what the peer sent is shown when it makes no sense. */
    private static final int MOST_SHOWN = 40;

    private final SocketChannel channel;

    /** Where the peer is, also once this is closed. */
    private final InetSocketAddress remote;

    /** Names the peer in messages. */
    private final String peer;

    /** What the peer is if it does not follow the protocol, and what to do then. */
    private final String otherwise;

    private final Duration timeout;
    private final ByteBuffer heard = ByteBuffer.allocateDirect(64);

    private EndpointExchange(SocketChannel channel, Duration timeout, String peer, String otherwise)
            throws IOException {
        this.channel = channel;
        this.peer = peer;
        this.otherwise = otherwise;
        this.timeout = timeout;
        remote = (InetSocketAddress) channel.getRemoteAddress();
        channel.socket().setTcpNoDelay(true);
        channel.socket().setSoTimeout(Tcp.millis(timeout));
    }

    /** The socket on which a server waits for its client. */
    static final class Listener implements AutoCloseable {
        private final Tcp.Listener listener;

        Listener(int port) throws IOException {
            listener = new Tcp.Listener(port);
        }

        /** Waits for a client for at most the limit; the timeout applies to every message of that client. */
        EndpointExchange accept(Duration limit, Duration timeout) throws IOException {
            SocketChannel channel = listener.accept(limit);
            InetSocketAddress client = (InetSocketAddress) channel.getRemoteAddress();
            return new EndpointExchange(
                    channel,
                    timeout,
                    "the client at " + Addresses.text(client),
                    "it is another kind of client: let the peer of this command connect here");
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    /** Connects to a server, and retries while none is listening there, so that both sides may be started at once. */
    static EndpointExchange connect(String host, int port, Duration timeout, Runnable whenRefused)
            throws IOException, InterruptedException {
        return new EndpointExchange(
                Tcp.connect(host, port, timeout, whenRefused),
                timeout,
                host + ":" + port,
                "it is another kind of server: give the host and the port (-p) where the peer of this command waits");
    }

    /** Returns the peer's address and port, for people to read. */
    String client() {
        return Addresses.text(remote);
    }

    /** Returns the peer's address, which determines which address of the device to use. */
    InetAddress peer() {
        return remote.getAddress();
    }

    void send(Endpoint endpoint) throws IOException {
        sendText(endpoint.toString());
    }

    /** Sends an endpoint to a peer that may be a C program. */
    void sendPingPong(Endpoint endpoint) throws IOException {
        sendText(endpoint.toPingPongLine());
    }

    Endpoint receive() throws IOException {
        String line = receiveText(Endpoint.MAX_LINE, ADDRESS);
        try {
            return Endpoint.parse(line);
        } catch (IllegalArgumentException e) {
            throw unexpected(line, ADDRESS, e);
        }
    }

    void sendDone() throws IOException {
        sendText(DONE);
    }

    void receiveDone() throws IOException {
        String text = receiveText(DONE.length(), CONNECTED);
        if (!text.equals(DONE)) {
            throw unexpected(text, CONNECTED, null);
        }
    }

    private void sendText(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        // In one piece, because the C programs call read only once.
        channel.socket().getOutputStream().write(Arrays.copyOf(bytes, bytes.length + 1));
    }

    /** Receives a text up to its zero byte, and no byte after it: those belong to what comes next. */
    private String receiveText(int most, String what) throws IOException {
        StringBuilder text = new StringBuilder();
        while (true) {
            int next = receiveByte(what);
            if (next == 0) {
                return text.toString();
            }
            if (next < ' ' || next > '~' || text.length() == most) {
                throw unexpected(text.toString(), what, null);
            }
            text.append((char) next);
        }
    }

    private Failure unexpected(String text, String what, Exception cause) {
        String sent = text.isEmpty()
                ? "bytes that are not text"
                : text.length() <= MOST_SHOWN ? "'" + text + "'" : "'" + text.substring(0, MOST_SHOWN) + "...'";
        return new Failure(peer + " sent " + sent + " when it should have said " + what + ", so " + otherwise, cause);
    }

    private int receiveByte(String what) throws IOException {
        int next;
        try {
            next = channel.socket().getInputStream().read();
        } catch (SocketTimeoutException e) {
            throw new Failure(
                    peer + " did not say " + what + " within " + timeout.toSeconds()
                            + " s: see what it printed, and check that it is the peer of this command",
                    e);
        }
        if (next < 0) {
            throw new Failure(peer + " closed the connection before it said " + what
                    + ": see what it printed, and check that it is the peer of this command");
        }
        return next;
    }

    /**
     * Whether the peer is still connected. Call this after the exchange, when neither side sends any more; does not
     * wait.
     */
    boolean isPeerThere() throws IOException {
        try {
            channel.configureBlocking(false);
            heard.clear();
            return channel.read(heard) >= 0;
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // Reset, or a broken pipe: all that matters is that the peer is gone.
            return false;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
