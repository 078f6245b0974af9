package org.rdmapanama;

import java.util.Objects;
import java.util.Optional;

/**
 * One filled place of a GID table; see ibv_query_gid_ex(3).
 *
 * @param port port number, from 1
 * @param index place in the port's table, from 0
 * @param gid the address
 * @param type what it belongs to
 * @param netDeviceIndex index of the network device behind it, 0 where there is none
 */
public record GidEntry(int port, int index, Gid gid, GidType type, int netDeviceIndex) {
    /**
     * An entry.
     *
     * @throws NullPointerException when the GID or its type is null
     */
    public GidEntry {
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(type, "type");
    }

    /**
     * Name of the network device behind this address, as the kernel has it now.
     *
     * @return such as {@code eth0}, or empty where there is none, or none in this process's network namespace
     */
    public Optional<String> netDeviceName() {
        return netDeviceIndex == 0 ? Optional.empty() : SystemNetwork.nameOf(netDeviceIndex);
    }
}
