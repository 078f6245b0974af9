package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.Context;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import picocli.CommandLine.Option;

/** Connection options that pingpong, serve and transfer share, named like those of the C programs. */
public final class LinkOptions extends DeviceOptions {
    /** A century, which stands for "without a limit". */
    public static final Duration FOR_EVER = Duration.ofDays(36_500);

    private static final String EVER = "0 waits forever";
    private static final long MAX_SECONDS = 1_000_000;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "18515",
            description = "TCP port on which the two sides meet (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when the peer stays silent this long; " + EVER + " (${DEFAULT-VALUE}).")
    private long timeoutSeconds;

    /** For picocli. */
    public LinkOptions() {}

    @Override
    public void check() {
        super.check();
        range("--port", port, 1, 65535);
        range("--timeout", timeoutSeconds, 0, MAX_SECONDS);
    }

    /** Checks that the size given by an option is between 1 byte and a maximum. */
    void sizeInRange(String option, ByteSize value, long max) {
        if (value.bytes() < 1 || value.bytes() > max) {
            throw wrong(option + " must be between 1 byte and " + ByteSize.format(max) + ", not " + value);
        }
    }

    /**
     * Returns the TCP port on which the two sides meet.
     *
     * @return the TCP port
     */
    public int port() {
        return port;
    }

    /**
     * Returns how long to wait for a sign of life from the peer.
     *
     * @return the timeout, possibly {@link #FOR_EVER}
     */
    public Duration timeout() {
        return timeoutSeconds == 0 ? FOR_EVER : Duration.ofSeconds(timeoutSeconds);
    }

    /** Starts to listen on the TCP port, and prints that it waits for a client. */
    EndpointExchange.Listener listen(PrintWriter out) throws IOException {
        EndpointExchange.Listener listener = new EndpointExchange.Listener(port);
        printWaiting(out);
        return listener;
    }

    void printWaiting(PrintWriter out) {
        out.println("  waiting for a client on TCP port " + port);
        out.flush();
    }

    /**
     * Connects to a server on the TCP port.
     *
     * @param host where it runs
     * @return the connection
     * @throws IOException if an I/O error occurs
     * @throws InterruptedException if the thread is interrupted
     */
    public SocketChannel connect(String host) throws IOException, InterruptedException {
        return Tcp.connect(host, port, timeout(), () -> tellRefused(host));
    }

    /** Connects to a server on the TCP port to exchange endpoints. */
    EndpointExchange reach(String host) throws IOException, InterruptedException {
        return EndpointExchange.connect(host, port, timeout(), () -> tellRefused(host));
    }

    static void print(PrintWriter out, String title, Endpoint endpoint) {
        out.printf("  %-15s %s%n", title + ":", EndpointText.of(endpoint));
        out.flush();
    }

    /** Prints that no server is listening yet, so that the user does not mistake waiting for working. */
    private void tellRefused(String host) {
        note("no server is listening on " + host + ":" + port + " yet, retrying");
    }

    /**
     * Prints a hint that may help two sides that poll.
     *
     * @param context the device of this side
     * @param peer an address of the other side
     * @return whether there was such a hint
     */
    public boolean notePolling(Context context, Gid peer) {
        boolean applies = PollingHint.applies(context, peer);
        if (applies) {
            note(PollingHint.TEXT);
        }
        return applies;
    }

    /**
     * Prints a hint if two sides of this machine polled, and had too few processors for that.
     *
     * @param context the device of this side
     * @param peer an address of the other side
     * @param share how much of the time this side had a processor, from 0 to 1
     * @param faster what is faster then
     */
    public void noteProcessorShare(Context context, Gid peer, double share, String faster) {
        String hint = PollingHint.afterwards(share, faster);
        if (hint != null && PollingHint.isBetweenProcesses(context, peer)) {
            note(hint);
        }
    }

    /** Rejects options that choose a device when the device is chosen by its address. */
    void noDevice() {
        for (String option : List.of("--device", "--device-port", "--gid-index", "--sl")) {
            if (commandLine().getParseResult().hasMatchedOption(option)) {
                throw wrong(option + " is for --tcp: the connection manager finds the device by its address");
            }
        }
    }
}
