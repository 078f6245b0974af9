package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.DeviceList;
import org.rdmapanama.Endpoint;
import org.rdmapanama.Mtu;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Where a connection goes: the options that pingpong and transfer share, named as those of the C programs. */
final class LinkOptions {
    private static final String EVER = "0 waits for ever";
    private static final long MAX_SECONDS = 1_000_000;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "18515",
            description = "TCP port where the two sides meet (${DEFAULT-VALUE}).")
    private int tcpPort;

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

    /** Checks what the types of the options do not. */
    void check() {
        range("--port", tcpPort, 1, 65535);
        range("--device-port", devicePort, 1, 255);
        range("--gid-index", gidIndex, -1, 255);
        range("--sl", serviceLevel, 0, 15);
        range("--timeout", timeoutSeconds, 0, MAX_SECONDS);
    }

    /** Complains about an option's value outside of a range. */
    void range(String option, long value, long min, long max) {
        if (value < min || value > max) {
            throw wrong(option + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    int tcpPort() {
        return tcpPort;
    }

    int devicePort() {
        return devicePort;
    }

    /** How long to wait for a sign of the peer; far more than a lifetime when the user wants no bound. */
    Duration timeout() {
        return timeoutSeconds == 0 ? Duration.ofDays(36_500) : Duration.ofSeconds(timeoutSeconds);
    }

    /** Waits, when accepting, for a client on the TCP port, and says so. */
    EndpointExchange.Listener listen(PrintWriter out) throws IOException {
        EndpointExchange.Listener listener = new EndpointExchange.Listener(tcpPort);
        out.println("  waiting for a client on TCP port " + tcpPort);
        out.flush();
        return listener;
    }

    /** Reaches a server on the TCP port. */
    EndpointExchange reach(String host) throws IOException, InterruptedException {
        return EndpointExchange.connect(host, tcpPort, timeout(), () -> tellRefused(host));
    }

    static void print(PrintWriter out, String title, Endpoint endpoint) {
        out.printf("  %-15s %s%n", title + ":", EndpointText.of(endpoint));
        out.flush();
    }

    /** Says that no server is there yet, so that nobody takes the wait for work. */
    private void tellRefused(String host) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(spec.qualifiedName() + ": nobody listens on " + host + ":" + tcpPort + " yet, trying on");
        err.flush();
    }

    Context open(VerbsArena arena) {
        DeviceList devices = DeviceList.query();
        return Context.open(arena, deviceName == null ? devices.preferred() : devices.byName(deviceName));
    }

    /** How to connect, with the path MTU given, or the port's own when that is null. */
    ConnectOptions connectOptions(Mtu mtu) {
        return new ConnectOptions()
                .port(devicePort)
                .gidIndex(gidIndex)
                .serviceLevel(serviceLevel)
                .pathMtu(mtu);
    }
}
