package org.rdmapanama.samples.nvme;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.nvme.DiscoveryEntry;
import org.rdmapanama.nvme.NvmeController;
import org.rdmapanama.nvme.NvmeDiscovery;
import org.rdmapanama.nvme.NvmeNamespace;
import org.rdmapanama.nvme.NvmeOptions;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.Sockets;
import org.rdmapanama.samples.WrongUsage;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The options of commands that connect to a target. */
final class NvmeHost {
    private static final int MAX_PORT = 65535;
    private static final int MAX_SECONDS = 1_000_000;

    @Parameters(
            index = "0",
            paramLabel = "HOST",
            description = "Address or name of the target, also HOST:PORT or [ADDRESS]:PORT.")
    private String host;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "PORT",
            defaultValue = "4420",
            description = "Port of the target, if HOST has none (${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = {"-n", "--subsystem"},
            paramLabel = "NQN",
            description = "Name of the subsystem; by default the only one that the target has.")
    private String subsystem;

    @Option(
            names = "--host-name",
            paramLabel = "NQN",
            description = "Name of this host, by which a target decides whether it may connect; random by default.")
    private String hostName;

    @Option(
            names = {"-I", "--source"},
            paramLabel = "ADDRESS",
            description = "Local address to connect from; chosen by the system by default.")
    private String source;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            defaultValue = "30",
            description = "Give up when the target does not answer this long (${DEFAULT-VALUE}).")
    private int timeoutSeconds;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Checks that the value of an option is in a range. */
    void range(String option, long value, long min, long max) {
        WrongUsage.range(spec.commandLine(), option, value, min, max);
    }

    private InetSocketAddress address() {
        return address(host, "--port", port);
    }

    private InetSocketAddress address(String of, String option, int itsPort) {
        range(option, itsPort, 1, MAX_PORT);
        return WrongUsage.address(spec.commandLine(), of, Integer.toString(itsPort));
    }

    private NvmeOptions options() {
        range("--timeout", timeoutSeconds, 1, MAX_SECONDS);
        Duration timeout =
                Duration.ofSeconds(Math.min(timeoutSeconds, Duration.ofDays(1).toSeconds()));
        // The option is the whole time: none is left for an abort.
        NvmeOptions options = new NvmeOptions()
                .connectTimeout(timeout)
                .commandTimeout(timeout)
                .abortTimeout(Duration.ZERO);
        if (source != null) {
            options.localAddress(Sockets.resolve(source, 0).getAddress());
        }
        return hostName == null ? options : options.host(hostName);
    }

    /** Checks the options, so that wrong ones are reported before anything is opened. */
    void check() {
        options();
        address();
    }

    List<DiscoveryEntry> discover() throws InterruptedException {
        return NvmeDiscovery.discover(address(), options());
    }

    /** Connects to look at the controller, and not to move data. */
    NvmeController connect() throws InterruptedException {
        return connect(new NvmeLending());
    }

    NvmeController connect(NvmeLending lending) throws InterruptedException {
        return connect(address(), subsystem, "--subsystem", lending);
    }

    /**
     * Connects to another target with the same settings.
     *
     * @param its the name of a subsystem, or null for the only one
     */
    NvmeController connect(String to, int itsPort, String its, NvmeLending lending) throws InterruptedException {
        return connect(address(to, "--to-port", itsPort), its, "--to-subsystem", lending);
    }

    private NvmeController connect(InetSocketAddress address, String name, String option, NvmeLending lending)
            throws InterruptedException {
        NvmeOptions options = lending.applyTo(options());
        return NvmeController.connect(address, options.subsystem(name == null ? onlySubsystem(address, option) : name));
    }

    private String onlySubsystem(InetSocketAddress address, String option) throws InterruptedException {
        List<String> names = NvmeDiscovery.discover(address, options()).stream()
                .filter(entry -> entry.isNvm() && entry.isRdma())
                .map(DiscoveryEntry::subsystem)
                .distinct()
                .toList();
        if (names.size() != 1) {
            throw new Failure(
                    names.isEmpty()
                            ? "the target has no subsystem for this host"
                            : "the target has several subsystems: name one of " + String.join(", ", names) + " with "
                                    + option);
        }
        return names.getFirst();
    }

    /** Returns the namespace with an id, or the only one if the id is 0. */
    static NvmeNamespace namespace(NvmeController controller, int id) {
        return namespace(controller, id, "--namespace");
    }

    /** The same where another option chooses it. */
    static NvmeNamespace namespace(NvmeController controller, int id, String option) {
        List<NvmeNamespace> all = controller.namespaces();
        List<NvmeNamespace> found =
                all.stream().filter(each -> id == 0 || each.id() == id).toList();
        if (found.size() != 1) {
            List<String> ids = all.stream()
                    .map(each -> Integer.toUnsignedString(each.id()))
                    .toList();
            throw new Failure(
                    all.isEmpty()
                            ? "the subsystem has no namespace that can be used"
                            : "the subsystem has the namespaces " + String.join(", ", ids) + ": choose one with "
                                    + option);
        }
        return found.getFirst();
    }
}
