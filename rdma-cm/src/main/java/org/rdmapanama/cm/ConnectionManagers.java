package org.rdmapanama.cm;

import java.util.List;
import java.util.ServiceLoader;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.NativeConnectionManager;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;

/**
 * Which connection manager this process has: that of librdmacm, unless the environment variable {@code RDMA_DEVICE} names
 * a software device, which brings its own, or there are no other devices. It is decided when it is first needed.
 */
final class ConnectionManagers {
    private ConnectionManagers() {}

    private static final class Preferred {
        static final ConnectionManager MANAGER = choose(System.getenv("RDMA_DEVICE"));
    }

    static ConnectionManager preferred() {
        return Preferred.MANAGER;
    }

    static ConnectionManager choose(String deviceName) {
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

    private static List<String> allDevices() {
        try {
            return DeviceList.query().stream().map(Device::name).toList();
        } catch (VerbsException e) {
            return List.of();
        }
    }
}
