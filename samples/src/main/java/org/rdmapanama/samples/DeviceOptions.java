package org.rdmapanama.samples;

import java.io.PrintWriter;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.device.Mtu;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** Options that choose a device, its port and its address, named like those of the C programs. */
public class DeviceOptions {
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

    @Spec(Target.MIXEE)
    private CommandSpec spec;

    /** For picocli. */
    public DeviceOptions() {}

    /** Checks the ranges that the option types do not check. */
    public void check() {
        range("--device-port", devicePort, 1, 255);
        range("--gid-index", gidIndex, -1, 255);
        range("--sl", serviceLevel, 0, 15);
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
    public final void range(String option, long value, long min, long max) {
        WrongUsage.range(spec.commandLine(), option, value, min, max);
    }

    /**
     * Creates the exception for wrong usage.
     *
     * @param message what is wrong
     * @return the exception, for the caller to throw
     */
    public final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    final CommandLine commandLine() {
        return spec.commandLine();
    }

    /**
     * Returns the port of the device.
     *
     * @return the port, from 1
     */
    public final int devicePort() {
        return devicePort;
    }

    /**
     * Returns the index of the port's address.
     *
     * @return the index in the GID table, or -1 if the library chooses one
     */
    public final int gidIndex() {
        return gidIndex;
    }

    /**
     * Prints a warning: what is unexpected, but not a failure.
     *
     * @param message the warning
     */
    public final void note(String message) {
        PrintWriter err = spec.commandLine().getErr();
        err.println(spec.qualifiedName() + ": " + message);
        err.flush();
    }

    /**
     * Returns the device that was asked for, or else the preferred one.
     *
     * @return the device
     */
    public final Device device() {
        DeviceList devices = DeviceList.query();
        return deviceName == null ? ChosenDevice.of(devices) : devices.byName(deviceName);
    }

    /**
     * Opens the device.
     *
     * @param arena the arena that owns the context
     * @return the context of the device
     */
    public final Context open(VerbsArena arena) {
        return Context.open(arena, device());
    }

    /**
     * Returns the options for connecting.
     *
     * @param mtu the path MTU, or null for that of the port
     * @return the options
     */
    public final ConnectOptions connectOptions(Mtu mtu) {
        return new ConnectOptions()
                .port(devicePort)
                .gidIndex(gidIndex)
                .serviceLevel(serviceLevel)
                .pathMtu(mtu);
    }
}
