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
import org.rdmapanama.Endpoint;
import org.rdmapanama.Gid;
import org.rdmapanama.Mtu;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Where a connection goes: the options that pingpong, serve and transfer share, named as those of the C programs. */
public final class LinkOptions {
    /** Far more than a lifetime. */
    public static final Duration FOR_EVER = Duration.ofDays(36_500);

    private static final String EVER = "0 waits for ever";
    private static final long MAX_SECONDS = 1_000_000;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "18515",
            description = "Port where the two sides meet (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-d", "--device", "--ib-dev"},
            paramLabel = "NAME",
            description = "RDMA device (the one that the variable RDMA_DEVICE names, else the first).")
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
                    "Which address of the port to use, see 'device-info -v'; -1 chooses one (-1, or RDMA_GID_INDEX).")
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

    /** Checks what the types of the options do not. */
    public void check() {
        range("--port", port, 1, 65535);
        range("--device-port", devicePort, 1, 255);
        range("--gid-index", gidIndex, -1, 255);
        range("--sl", serviceLevel, 0, 15);
        range("--timeout", timeoutSeconds, 0, MAX_SECONDS);
    }

    /**
     * Complains about an option's value outside of a range.
     *
     * @param option its name
     * @param value what it is
     * @param min the smallest that is fine
     * @param max the largest
     * @throws ParameterException when it is outside
     */
    public void range(String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw wrong(option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    /** Complains about an option's size outside of a range. */
    void sizeInRange(String option, ByteSize value, long max) {
        if (value.bytes() < 1 || value.bytes() > max) {
            throw wrong(option + " must be between 1 byte and " + ByteSize.format(max) + ", not " + value);
        }
    }

    /**
     * What complains about usage.
     *
     * @param message what is wrong
     * @return the exception, to be thrown
     */
    public ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /**
     * Where the two sides meet.
     *
     * @return the TCP port
     */
    public int port() {
        return port;
    }

    /**
     * The port of the device.
     *
     * @return from 1
     */
    public int devicePort() {
        return devicePort;
    }

    /**
     * How long to wait for a sign of the peer.
     *
     * @return a time that may be {@link #FOR_EVER}
     */
    public Duration timeout() {
        return timeoutSeconds == 0 ? FOR_EVER : Duration.ofSeconds(timeoutSeconds);
    }

    /** Waits, when accepting, for a client on the TCP port, and says so. */
    EndpointExchange.Listener listen(PrintWriter out) throws IOException {
        EndpointExchange.Listener listener = new EndpointExchange.Listener(port);
        out.println("  waiting for a client on TCP port " + port);
        out.flush();
        return listener;
    }

    /**
     * Reaches a server on the TCP port.
     *
     * @param host where it runs
     * @return the connection
     * @throws IOException when the system fails
     * @throws InterruptedException when the thread is interrupted
     */
    public SocketChannel connect(String host) throws IOException, InterruptedException {
        return Tcp.connect(host, port, timeout(), () -> tellRefused(host));
    }

    /** Reaches a server on the TCP port. */
    EndpointExchange reach(String host) throws IOException, InterruptedException {
        return EndpointExchange.connect(host, port, timeout(), () -> tellRefused(host));
    }

    static void print(PrintWriter out, String title, Endpoint endpoint) {
        out.printf("  %-15s %s%n", title + ":", EndpointText.of(endpoint));
        out.flush();
    }

    /** Says that no server is there yet, so that nobody takes the wait for work. */
    private void tellRefused(String host) {
        note("nobody listens on " + host + ":" + port + " yet, trying on");
    }

    /**
     * Says what is unexpected, and no failure.
     *
     * @param message what to say
     */
    public void note(String message) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(spec.qualifiedName() + ": " + message);
        err.flush();
    }

    /**
     * Says what may help two sides that poll.
     *
     * @param context the device of this one
     * @param peer an address of the other one
     */
    public void notePolling(Context context, Gid peer) {
        if (PollingHint.applies(context, peer)) {
            note(PollingHint.TEXT);
        }
    }

    /** Complains about options that a device is chosen by, where an address does that. */
    void noDevice() {
        for (String option : List.of("--device", "--device-port", "--gid-index", "--sl")) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw wrong(option + " is for --tcp: the connection manager finds the device by its address");
            }
        }
    }

    /**
     * The device that was asked for, or else the preferred one.
     *
     * @return the device
     */
    public Device device() {
        DeviceList devices = DeviceList.query();
        return deviceName == null ? devices.preferred() : devices.byName(deviceName);
    }

    /**
     * Opens the device.
     *
     * @param arena that owns it
     * @return the open device
     */
    public Context open(VerbsArena arena) {
        return Context.open(arena, device());
    }

    /**
     * How to connect.
     *
     * @param mtu the path MTU, or null for the port's own
     * @return the options of it
     */
    public ConnectOptions connectOptions(Mtu mtu) {
        return new ConnectOptions()
                .port(devicePort)
                .gidIndex(gidIndex)
                .serviceLevel(serviceLevel)
                .pathMtu(mtu);
    }
}
