package org.rdmapanama.samples;

import java.util.List;
import java.util.concurrent.Callable;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shows what devices can do and how their ports are, as ibv_devinfo does. */
@Command(
        name = "device-info",
        description = "Show what devices can do, and the state of their ports.",
        sortOptions = false)
final class DeviceInfoCommand implements Callable<Integer> {
    @Option(
            names = {"-d", "--device", "--ib-dev"},
            paramLabel = "NAME",
            description = "Only this device (all, or the one that the variable RDMA_DEVICE names).")
    private String deviceName;

    @Option(
            names = {"-i", "--device-port", "--ib-port"},
            paramLabel = "N",
            description = "Only this port of the device, from 1 (all).")
    private int port;

    @Option(
            names = {"-v", "--verbose"},
            description = "All attributes, and the GID tables.")
    private boolean verbose;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (spec.commandLine().getParseResult().hasMatchedOption("-i") && (port < 1 || port > 255)) {
            throw new ParameterException(spec.commandLine(), "a port is 1 to 255, not " + port);
        }
        DeviceReport report = new DeviceReport(spec.commandLine().getOut(), verbose);
        for (Device device : devices()) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                report.print(device, Context.open(arena, device), port);
            }
        }
        return 0;
    }

    private List<Device> devices() {
        DeviceList all = DeviceList.query();
        if (deviceName != null) {
            return List.of(all.byName(deviceName));
        }
        String named = System.getenv("RDMA_DEVICE");
        // Without any device preferred() says what to do about that.
        return all.isEmpty() || (named != null && !named.isBlank()) ? List.of(all.preferred()) : all;
    }
}
