package org.rdmapanama.testing;

import java.io.IOException;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;

/** A Soft-RoCE device on a network device that leads nowhere, to be taken up and down at will. */
public final class DummyDevice implements AutoCloseable {
    private static final String NETWORK_DEVICE = "dummy9";
    private static final String NAME = "rxe9";

    private DummyDevice() {}

    public static DummyDevice add() throws IOException {
        LabDevices.assumeSoftRoce("the test adds a device to the machine");
        Commands.run("ip", "link", "add", NETWORK_DEVICE, "type", "dummy");
        DummyDevice dummy = new DummyDevice();
        try {
            dummy.up();
            Commands.run("rdma", "link", "add", NAME, "type", "rxe", "netdev", NETWORK_DEVICE);
        } catch (IOException | RuntimeException | Error e) {
            Commands.run("ip", "link", "delete", NETWORK_DEVICE);
            throw e;
        }
        return dummy;
    }

    public Device device() {
        return DeviceList.query().byName(NAME);
    }

    public void down() throws IOException {
        Commands.run("ip", "link", "set", NETWORK_DEVICE, "down");
    }

    public void up() throws IOException {
        Commands.run("ip", "link", "set", NETWORK_DEVICE, "up");
    }

    public void addAddress(String address) throws IOException {
        Commands.run("ip", "address", "add", address, "dev", NETWORK_DEVICE);
    }

    /** The devices must be closed by now: deleting one in use waits for its users. */
    @Override
    public void close() throws IOException {
        Commands.run("rdma", "link", "delete", NAME);
        Commands.run("ip", "link", "delete", NETWORK_DEVICE);
    }
}
