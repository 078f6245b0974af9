package org.rdmapanama.samples.selftest;

import java.time.Duration;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Device;
import org.rdmapanama.samples.DeviceOptions;

/**
 * The device that is tested.
 *
 * @param device the device
 * @param options its port and address
 * @param limit how long to wait for one completion
 */
record Subject(Device device, DeviceOptions options, Duration limit) {
    int port() {
        return options.devicePort();
    }

    ConnectOptions connectOptions() {
        return options.connectOptions(null);
    }
}
