package org.rdmapanama.samples;

import java.io.IOException;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.rdmapanama.Endpoint;

/**
 * The TCP connection over which two programs tell each other their endpoints, as rdma-core's ping-pong programs speak on
 * it: the client sends its line, the server connects its queue pair and answers with its own, the client says "done".
 * Everything ends with a zero byte, as C strings do. What two of our own programs tell each other is longer than the C
 * programs can read.
 *
 * <p>Threads: one at a time. Interrupting it ends every wait and closes the connection.
 */
final class EndpointExchange implements AutoCloseable {
    private static final String DONE = "done";
    private final SocketChannel channel;
    private final Duration timeout;
    private final ByteBuffer heard = ByteBuffer.allocateDirect(64);

    private EndpointExchange(SocketChannel channel, Duration timeout) throws IOException {
        this.channel = channel;
        this.timeout = timeout;
        channel.socket().setTcpNoDelay(true);
        channel.socket().setSoTimeout(Tcp.millis(timeout));
    }

    /** Where a server waits for its client. */
    static final class Listener implements AutoCloseable {
        private final Tcp.Listener listener;

        Listener(int port) throws IOException {
            listener = new Tcp.Listener(port);
        }

        /** Waits for a client until the limit; the timeout is for what it then says. */
        EndpointExchange accept(Duration limit, Duration timeout) throws IOException {
            return new EndpointExchange(listener.accept(limit), timeout);
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    /** Connects to a server; while nobody listens there it tries again, so that both sides may be started at once. */
    static EndpointExchange connect(String host, int port, Duration timeout, Runnable whenRefused)
            throws IOException, InterruptedException {
        return new EndpointExchange(Tcp.connect(host, port, timeout, whenRefused), timeout);
    }

    /** Where the peer is: what chooses the address of a device. */
    InetAddress peer() {
        return channel.socket().getInetAddress();
    }

    void send(Endpoint endpoint) throws IOException {
        sendText(endpoint.toString());
    }

    /** To a peer that may be a C program. */
    void sendPingPong(Endpoint endpoint) throws IOException {
        sendText(endpoint.toPingPongLine());
    }

    Endpoint receive() throws IOException {
        String line = receiveText(Endpoint.MAX_LINE, "its address");
        try {
            return Endpoint.parse(line);
        } catch (IllegalArgumentException e) {
            throw new Failure("the peer is no ping-pong program: it sent " + e.getMessage(), e);
        }
    }

    void sendDone() throws IOException {
        sendText(DONE);
    }

    void receiveDone() throws IOException {
        String text = receiveText(DONE.length(), "that it is connected");
        if (!text.equals(DONE)) {
            throw new Failure("the peer is no ping-pong program: it sent '" + text + "'");
        }
    }

    private void sendText(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        // In one piece, because the C programs read once.
        channel.socket().getOutputStream().write(Arrays.copyOf(bytes, bytes.length + 1));
    }

    /** A text up to its zero byte. No byte behind that is taken: it belongs to what comes next. */
    private String receiveText(int most, String what) throws IOException {
        StringBuilder text = new StringBuilder();
        while (true) {
            int next = receiveByte(what);
            if (next == 0) {
                return text.toString();
            }
            if (next < ' ' || next > '~' || text.length() == most) {
                throw new Failure(
                        "the peer is no ping-pong program: it sent '" + text + "' where it was to say " + what);
            }
            text.append((char) next);
        }
    }

    private int receiveByte(String what) throws IOException {
        int next;
        try {
            next = channel.socket().getInputStream().read();
        } catch (SocketTimeoutException e) {
            throw new Failure(
                    "the peer did not say " + what + " within " + timeout.toSeconds() + " s: see what it printed", e);
        }
        if (next < 0) {
            throw new Failure("the peer closed the connection before it said " + what + ": see what it printed");
        }
        return next;
    }

    /** Whether the peer has not hung up. For after the exchange, when nobody says more; does not wait. */
    boolean isPeerThere() throws IOException {
        try {
            channel.configureBlocking(false);
            heard.clear();
            return channel.read(heard) >= 0;
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // Reset, or a broken pipe: all that matters is that nobody is there.
            return false;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
