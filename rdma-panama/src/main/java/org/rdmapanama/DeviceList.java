package org.rdmapanama;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.rdmapanama.internal.provider.NoRdmaException;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.internal.provider.ProviderException;

/**
 * The RDMA devices that were present at one moment; see ibv_get_device_list(3). An immutable list, safe for use by any
 * thread, that owns nothing native.
 */
public final class DeviceList extends AbstractList<Device> {
    private static final String SOFTWARE_DEVICE = "with rdma-soft on the path there is soft0, a device in Java";

    private static final String CHOICE = "RDMA_DEVICE";

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
     *     subsystem: the message says what to install or load; or when those of the machine cannot be listed for another
     *     reason, such as too many open files (EMFILE), even where there is {@code soft0}. It can be tried again
     * @verb ibv_get_device_list
     * @verb ibv_free_device_list
     */
    public static DeviceList query() {
        return query(Providers.all());
    }

    static DeviceList query(Provider provider) {
        return query(List.of(provider));
    }

    /** A provider that can have no devices here does not matter where another one has some. */
    static DeviceList query(List<Provider> providers) {
        List<Device> devices = new ArrayList<>();
        NoRdmaException none = null;
        for (Provider provider : providers) {
            try {
                provider.devices().stream().map(Device::new).forEach(devices::add);
            } catch (NoRdmaException e) {
                none = e;
            } catch (ProviderException e) {
                throw new VerbsException(e.verb(), e.errno(), "", e.getMessage());
            }
        }
        if (devices.isEmpty() && none != null) {
            throw new VerbsException(none.verb(), none.errno(), "", cure(none, providers));
        }
        return new DeviceList(List.copyOf(devices));
    }

    /** The device of a name, whoever has it: that another provider cannot list its own does not matter then. */
    static Device find(String name) {
        return find(name, Providers.all());
    }

    static Device find(String name, List<Provider> providers) {
        Objects.requireNonNull(name, "name");
        for (Provider provider : providers) {
            try {
                for (ProviderDevice each : provider.devices()) {
                    if (each.name().equals(name)) {
                        return new Device(each);
                    }
                }
            } catch (ProviderException e) {
                // When nobody has it, the list that follows fails with it.
            }
        }
        return query(providers).byName(name);
    }

    /** As {@link #preferred()} of a list made for that. */
    static Device findPreferred() {
        String name = System.getenv(CHOICE);
        return name != null && !name.isBlank() ? find(name) : query().preferred();
    }

    private static String cure(NoRdmaException problem, List<Provider> providers) {
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
        String name = System.getenv(CHOICE);
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
