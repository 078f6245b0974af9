package org.rdmapanama.soft;

import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.soft.memory.Memory;

/**
 * The queries of the device and of its port. What they answer never changes while the device is open. {@link SoftContext}
 * forwards the calls of the program, on any thread; no method needs a lock.
 */
final class DeviceQueries {
    private final SoftDevice device;

    DeviceQueries(SoftDevice device) {
        this.device = device;
    }

    int queryDevice(long attributes) {
        DeviceTables.device(attributes, device);
        return 0;
    }

    int queryPort(int port, long attributes) {
        if (port != 1) {
            return -Errno.EINVAL;
        }
        DeviceTables.port(attributes, device);
        return 0;
    }

    int queryGidTable(long entries, int capacity) {
        int count = device.addresses().count();
        if (capacity < count) {
            return -Errno.EINVAL;
        }
        for (int i = 0; i < count; i++) {
            DeviceTables.gid(entries + i * ibv_gid_entry.sizeof(), i, device);
        }
        return count;
    }

    int queryGid(int port, int index, long gid) {
        if (port != 1 || index < 0 || index >= DeviceTables.GID_TABLE) {
            return -Errno.EINVAL;
        }
        if (index < device.addresses().count()) {
            device.addresses().writeGid(index, gid);
        } else {
            Memory.zero(gid, 16);
        }
        return 0;
    }

    int queryGidEx(int port, int index, long entry) {
        if (port != 1 || index < 0 || index >= DeviceTables.GID_TABLE) {
            return -Errno.EINVAL;
        }
        if (index >= device.addresses().count()) {
            return -Errno.ENODATA;
        }
        DeviceTables.gid(entry, index, device);
        return 0;
    }

    int queryPkey(int port, int index) {
        return port == 1 && index == 0 ? DeviceTables.PKEY : -Errno.EINVAL;
    }

    int pkeyIndex(int port, int pkey) {
        if (port != 1) {
            return -Errno.EINVAL;
        }
        return pkey == DeviceTables.PKEY ? 0 : -Errno.ENOENT;
    }
}
