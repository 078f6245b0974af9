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

/** Shows the attributes of devices and the state of their ports, as ibv_devinfo does. */
@Command(
        name = "device-info",
        description = "Show what devices can do, and the state of their ports.",
        sortOptions = false)
final class DeviceInfoCommand implements Callable<Integer> {
    @Option(
            names = {"-d", "--device", "--ib-dev"},
            paramLabel = "NAME",
            description = "Show only this device (all, or the one named by the variable RDMA_DEVICE).")
    private String deviceName;

    @Option(
            names = {"-i", "--device-port", "--ib-port"},
            paramLabel = "N",
            description = "Show only this port of the device, from 1 (all).")
    private int port;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show all attributes, and the GID tables.")
    private boolean verbose;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        if (spec.commandLine().getParseResult().hasMatchedOption("-i") && (port < 1 || port > 255)) {
            throw new ParameterException(spec.commandLine(), "--device-port must be between 1 and 255, not " + port);
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
        return all.isEmpty() || ChosenDevice.isNamed() ? List.of(ChosenDevice.of(all)) : all;
    }
}
