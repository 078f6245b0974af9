package org.rdmapanama;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderException;

/**
 * The RDMA devices that were present at one moment; see ibv_get_device_list(3). An immutable list, safe for use by any
 * thread, that owns nothing native.
 */
public final class DeviceList extends AbstractList<Device> {
    private static final String SOFTWARE_DEVICE = "with rdma-soft on the path there is soft0, a device in Java";

    private final List<Device> devices;

    private DeviceList(List<Device> devices) {
        this.devices = devices;
    }

    /**
     * Asks for the devices present now: those of the machine, and behind them {@code soft0} where the module {@code
     * rdma-soft} is on the path.
     *
     * @return the devices, possibly none
     * @throws VerbsException when there is none because libibverbs is not installed or the kernel has no RDMA
     *     subsystem; the message says what to install or load
     * @verb ibv_get_device_list
     * @verb ibv_free_device_list
     */
    public static DeviceList query() {
        return query(Providers.all());
    }

    static DeviceList query(Provider provider) {
        return query(List.of(provider));
    }

    /** A provider that has no list does not matter where another one has devices. */
    static DeviceList query(List<Provider> providers) {
        List<Device> devices = new ArrayList<>();
        ProviderException problem = null;
        for (Provider provider : providers) {
            try {
                provider.devices().stream().map(Device::new).forEach(devices::add);
            } catch (ProviderException e) {
                problem = e;
            }
        }
        if (devices.isEmpty() && problem != null) {
            throw new VerbsException(problem.verb(), problem.errno(), "", cure(problem, providers));
        }
        return new DeviceList(List.copyOf(devices));
    }

    private static String cure(ProviderException problem, List<Provider> providers) {
        String known = problem.getMessage();
        if (providers.size() > 1) {
            return known;
        }
        return known == null ? SOFTWARE_DEVICE : known + "; " + SOFTWARE_DEVICE;
    }

    /**
     * The device of a name.
     *
     * @param name kernel name, such as {@code mlx5_0}
     * @return the device
     * @throws VerbsException when there is none of that name; the message lists those there are
     * @throws NullPointerException when the name is null
     */
    public Device byName(String name) {
        Objects.requireNonNull(name, "name");
        for (Device device : devices) {
            if (device.name().equals(name)) {
                return device;
            }
        }
        throw new VerbsException(
                "ibv_open_device",
                Errno.ENODEV.number,
                "device " + name,
                devices.isEmpty() ? noDevices() : "the devices present are " + names());
    }

    /**
     * The device to use when the user named none: the one that the environment variable {@code RDMA_DEVICE} names, or
     * else the first.
     *
     * @return the device
     * @throws VerbsException when there is no device, or none of the name in {@code RDMA_DEVICE}
     */
    public Device preferred() {
        String name = System.getenv("RDMA_DEVICE");
        if (name != null && !name.isBlank()) {
            return byName(name);
        }
        if (devices.isEmpty()) {
            throw new VerbsException("ibv_open_device", Errno.ENODEV.number, "", noDevices());
        }
        return devices.get(0);
    }

    private static String noDevices() {
        return "there is no RDMA device on this machine: 'rdma link show' of iproute2 lists them, and"
                + " 'rdma link add rxe0 type rxe netdev eth0' adds a software one where the kernel has rdma_rxe; "
                + SOFTWARE_DEVICE;
    }

    private String names() {
        return devices.stream().map(Device::name).collect(Collectors.joining(", "));
    }

    @Override
    public Device get(int index) {
        return devices.get(index);
    }

    @Override
    public int size() {
        return devices.size();
    }
}
