package org.rdmapanama.cm;

import java.util.List;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceList;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.NativeConnectionManager;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;

/**
 * Chooses the connection manager of this process: librdmacm, unless the environment variable {@code RDMA_DEVICE} names
 * a software device, which has its own, or there are no other devices. The choice is made on first use and then kept;
 * while the devices cannot be listed it fails, and the next call tries again.
 */
final class ConnectionManagers {
    /** Null until the choice is made. */
    private static volatile @Nullable ConnectionManager decided;

    private ConnectionManagers() {}

    /**
     * Returns the connection manager of this process.
     *
     * @throws IllegalCallerException when the JVM does not allow calls of C functions
     * @throws ConnectionException when the devices cannot be listed now
     */
    static ConnectionManager preferred() {
        ConnectionManager known = decided;
        return known == null ? decide() : known;
    }

    /** Has this process another one from now on, for a test; null has it decide again. */
    static synchronized void replace(ConnectionManager other) {
        decided = other;
    }

    private static synchronized ConnectionManager decide() {
        if (decided == null) {
            decided = choose(System.getenv("RDMA_DEVICE"));
        }
        return decided;
    }

    /** Returns the chosen manager's cure for an errno; null if it has none, or no manager has been chosen yet. */
    static @Nullable String cure(int errno) {
        ConnectionManager known = decided;
        return known == null ? null : known.cure(errno);
    }

    static ConnectionManager choose(String deviceName) {
        if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
            throw new ConnectionException("ibv_get_device_list", Errno.EMFILE, "", FreeDescriptors.CURE);
        }
        // Looked up with the class loader of rdma-panama, as rdma-panama itself does.
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
        NativeAccess.require();
        return NativeConnectionManager.INSTANCE;
    }

    /** Includes the software devices, so an absence of kernel devices is never the reason for a failure here. */
    private static List<String> allDevices() {
        try {
            return DeviceList.query().stream().map(Device::name).toList();
        } catch (VerbsException e) {
            throw new ConnectionException(e.verb(), e.errno(), e.arguments(), e.cure());
        }
    }
}
