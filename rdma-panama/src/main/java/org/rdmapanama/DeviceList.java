package org.rdmapanama;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.internal.provider.NoRdmaException;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.internal.provider.ProviderException;

/**
 * An immutable list of the RDMA devices that were present at one moment; see ibv_get_device_list(3). It is safe for use
 * by any thread and owns nothing native.
 */
public final class DeviceList extends AbstractList<Device> {
    private static final String SOFTWARE_DEVICE = "with rdma-soft on the path there is soft0, a device in Java";

    private static final String CHOICE = "RDMA_DEVICE";

    private static final String BY_CHOICE = ", which the environment variable " + CHOICE + " names";

    private final List<Device> devices;

    private DeviceList(List<Device> devices) {
        this.devices = devices;
    }

    /**
     * Queries the devices that are present now: those of the machine, followed by {@code soft0} if the module {@code
     * rdma-soft} is on the path.
     *
     * @return the devices, possibly none
     * @throws VerbsException when there is none because libibverbs is not installed or the kernel has no RDMA
     *     subsystem; the message says what to install or load. Also when the devices of the machine cannot be listed
     *     for another reason, such as too many open files (EMFILE) or a libibverbs that cannot be loaded, even if there
     *     is {@code soft0}; the call can be repeated
     * @verb ibv_get_device_list
     * @verb ibv_free_device_list
     */
    public static DeviceList query() {
        return query(Providers.all());
    }

    static DeviceList query(Provider provider) {
        return query(List.of(provider));
    }

    /** A provider that cannot have devices here is ignored if another one has some. */
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

    /**
     * Finds a device by name in all providers. Providers that cannot list their devices are ignored if another one has
     * it.
     */
    static Device find(String name) {
        return find(name, "", Providers.all());
    }

    static Device find(String name, List<Provider> providers) {
        return find(name, "", providers);
    }

    private static Device find(String name, String origin, List<Provider> providers) {
        Objects.requireNonNull(name, "name");
        for (Provider provider : providers) {
            try {
                for (ProviderDevice each : provider.devices()) {
                    if (each.name().equals(name)) {
                        return new Device(each);
                    }
                }
            } catch (ProviderException e) {
                // If no provider has the device, the query below fails in the same way.
            }
        }
        return query(providers).byName(name, origin);
    }

    /** Like {@link #preferred()}, without listing all devices if one is named. */
    static Device findPreferred() {
        String name = System.getenv(CHOICE);
        return name != null && !name.isBlank() ? find(name, BY_CHOICE, Providers.all()) : query().preferred();
    }

    private static @Nullable String cure(NoRdmaException problem, List<Provider> providers) {
        String known = problem.getMessage();
        if (providers.size() > 1) {
            return known;
        }
        return known == null ? SOFTWARE_DEVICE : known + "; " + SOFTWARE_DEVICE;
    }

    /**
     * Returns the device with the given name.
     *
     * @param name kernel name, such as {@code mlx5_0}
     * @return the device
     * @throws VerbsException when there is no such device; the message lists those present
     * @throws NullPointerException when the name is null
     */
    public Device byName(String name) {
        return byName(name, "");
    }

    private Device byName(String name, String origin) {
        Objects.requireNonNull(name, "name");
        for (Device device : devices) {
            if (device.name().equals(name)) {
                return device;
            }
        }
        // It may be one of the kernel, of which nothing is known without the access.
        NativeAccess.require();
        throw new VerbsException(
                "ibv_open_device",
                Errno.ENODEV,
                "device '" + name + "'" + origin,
                devices.isEmpty() ? noDevices() : "the devices present are " + names());
    }

    /**
     * Returns the default device: the one that the environment variable {@code RDMA_DEVICE} names, or the first if it
     * is not set.
     *
     * @return the device
     * @throws VerbsException when there is no device, or not the one that {@code RDMA_DEVICE} names
     */
    public Device preferred() {
        String name = System.getenv(CHOICE);
        if (name != null && !name.isBlank()) {
            return byName(name, BY_CHOICE);
        }
        if (devices.isEmpty()) {
            throw new VerbsException("ibv_open_device", Errno.ENODEV, "", noDevices());
        }
        return devices.get(0);
    }

    private static String noDevices() {
        return "this machine has no RDMA device; 'rdma link show' of iproute2 lists devices, and"
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
