package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.device.Mtu;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Connection options that pingpong, serve and transfer share, named like those of the C programs. */
public final class LinkOptions {
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
            names = {"-d", "--device", "--ib-dev"},
            paramLabel = "NAME",
            description = "RDMA device (the one named by the variable RDMA_DEVICE, or else the first).")
    private String deviceName;

    @Option(
            names = {"-i", "--device-port", "--ib-port"},
            paramLabel = "N",
            defaultValue = "1",
            description = "Port of the device, from 1 (${DEFAULT-VALUE}).")
    private int devicePort;

    @Option(
            names = {"-g", "--gid-index", "--gid-idx"},
            paramLabel = "INDEX",
            defaultValue = "${env:RDMA_GID_INDEX:--1}",
            description =
                    "Index of the port's address to use, see 'device-info -v'; -1 chooses one (RDMA_GID_INDEX, or -1).")
    private int gidIndex;

    @Option(
            names = {"-l", "--sl"},
            paramLabel = "LEVEL",
            defaultValue = "0",
            description = "Service level, 0 to 15 (${DEFAULT-VALUE}).")
    private int serviceLevel;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when the peer stays silent this long; " + EVER + " (${DEFAULT-VALUE}).")
    private long timeoutSeconds;

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** For picocli. */
    public LinkOptions() {}

    /** Checks the ranges that the option types do not check. */
    public void check() {
        range("--port", port, 1, 65535);
        range("--device-port", devicePort, 1, 255);
        range("--gid-index", gidIndex, -1, 255);
        range("--sl", serviceLevel, 0, 15);
        range("--timeout", timeoutSeconds, 0, MAX_SECONDS);
    }

    /**
     * Checks that the value of an option lies within a range.
     *
     * @param option the name of the option
     * @param value its value
     * @param min the smallest valid value
     * @param max the largest valid value
     * @throws ParameterException if the value is outside the range
     */
    public void range(String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw wrong(option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    /** Checks that the size given by an option is between 1 byte and a maximum. */
    void sizeInRange(String option, ByteSize value, long max) {
        if (value.bytes() < 1 || value.bytes() > max) {
            throw wrong(option + " must be between 1 byte and " + ByteSize.format(max) + ", not " + value);
        }
    }

    /**
     * Creates the exception for wrong usage.
     *
     * @param message what is wrong
     * @return the exception, for the caller to throw
     */
    public ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
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
     * Returns the port of the device.
     *
     * @return the port, from 1
     */
    public int devicePort() {
        return devicePort;
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
     * Prints a warning: what is unexpected, but not a failure.
     *
     * @param message the warning
     */
    public void note(String message) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(spec.qualifiedName() + ": " + message);
        err.flush();
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
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw wrong(option + " is for --tcp: the connection manager finds the device by its address");
            }
        }
    }

    /**
     * Returns the device that was asked for, or else the preferred one.
     *
     * @return the device
     */
    public Device device() {
        DeviceList devices = DeviceList.query();
        return deviceName == null ? ChosenDevice.of(devices) : devices.byName(deviceName);
    }

    /**
     * Opens the device.
     *
     * @param arena the arena that owns the context
     * @return the context of the device
     */
    public Context open(VerbsArena arena) {
        return Context.open(arena, device());
    }

    /**
     * Returns the options for connecting.
     *
     * @param mtu the path MTU, or null for that of the port
     * @return the options
     */
    public ConnectOptions connectOptions(Mtu mtu) {
        return new ConnectOptions()
                .port(devicePort)
                .gidIndex(gidIndex)
                .serviceLevel(serviceLevel)
                .pathMtu(mtu);
    }
}
