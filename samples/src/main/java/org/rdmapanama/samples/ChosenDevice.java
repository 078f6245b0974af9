package org.rdmapanama.samples;

import java.util.stream.Collectors;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;

/** The device that the environment variable {@code RDMA_DEVICE} chooses for commands that name none. */
final class ChosenDevice {
    private static final String VARIABLE = "RDMA_DEVICE";

    private ChosenDevice() {}

    /** Whether the variable names a device, present or not. */
    static boolean isNamed() {
        String name = System.getenv(VARIABLE);
        return name != null && !name.isBlank();
    }

    /** Returns what is wrong with the variable, or null: it names a device that is not among those present. */
    static String problem(DeviceList devices) {
        String name = System.getenv(VARIABLE);
        if (!isNamed() || devices.stream().anyMatch(device -> device.name().equals(name))) {
            return null;
        }
        String present = devices.stream().map(Device::name).collect(Collectors.joining(", "));
        return "the variable " + VARIABLE + " names '" + name + "', which is not a device of this machine: "
                + (devices.isEmpty() ? "" : "set it to one of those present (" + present + "), or ") + "unset it";
    }

    /** Returns the device that the variable names, or else the first. */
    static Device of(DeviceList devices) {
        String problem = devices.isEmpty() ? null : problem(devices);
        if (problem != null) {
            throw new Failure(problem);
        }
        // If there is no device, preferred() fails with a message that says what to do.
        return devices.preferred();
    }
}
