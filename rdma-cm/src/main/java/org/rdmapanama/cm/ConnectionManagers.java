package org.rdmapanama.cm;

import java.util.List;
import java.util.ServiceLoader;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.NativeConnectionManager;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;

/**
 * Which connection manager this process has: that of librdmacm, unless the environment variable {@code RDMA_DEVICE} names
 * a software device, which brings its own, or there are no other devices. It is decided when it is first needed and can
 * be: not while the devices cannot be listed.
 */
final class ConnectionManagers {
    /** Null until it is decided. */
    private static volatile ConnectionManager decided;

    private ConnectionManagers() {}

    /**
     * The one that this process has.
     *
     * @throws ConnectionException when that cannot be decided now
     */
    static ConnectionManager preferred() {
        ConnectionManager known = decided;
        return known == null ? decide() : known;
    }

    private static synchronized ConnectionManager decide() {
        if (decided == null) {
            decided = choose(System.getenv("RDMA_DEVICE"));
        }
        return decided;
    }

    /** What it says about a failure; null where nothing is known, nor which one it is. */
    static String cure(int errno) {
        ConnectionManager known = decided;
        return known == null ? null : known.cure(errno);
    }

    static ConnectionManager choose(String deviceName) {
        if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
            throw new ConnectionException("ibv_get_device_list", Errno.EMFILE, "", FreeDescriptors.CURE);
        }
        // Those that lie where rdma-panama lies, as it looks for them itself.
        for (Provider each : ServiceLoader.load(Provider.class, Provider.class.getClassLoader())) {
            ConnectionManager manager = each.connectionManager();
            if (manager != null) {
                List<String> names =
                        each.devices().stream().map(ProviderDevice::name).toList();
                boolean named = deviceName != null && !deviceName.isBlank();
                if (named ? names.contains(deviceName) : names.containsAll(allDevices())) {
                    return manager;
                }
            }
        }
        return NativeConnectionManager.INSTANCE;
    }

    /** The software devices are among them: so that there are no others is not why this fails. */
    private static List<String> allDevices() {
        try {
            return DeviceList.query().stream().map(Device::name).toList();
        } catch (VerbsException e) {
            throw new ConnectionException(e.verb(), e.errno(), e.arguments(), e.cure());
        }
    }
}
