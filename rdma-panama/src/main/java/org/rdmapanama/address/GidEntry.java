package org.rdmapanama.address;

import java.util.Objects;
import java.util.Optional;
import org.rdmapanama.VerbsException;
import org.rdmapanama.internal.network.SystemNetwork;

/**
 * One entry of a GID table; see ibv_query_gid_ex(3).
 *
 * @param port port number, from 1
 * @param index index in the port's table, from 0
 * @param gid the address
 * @param type the type of the address
 * @param netDeviceIndex index of the network device behind it, 0 if there is none
 */
public record GidEntry(int port, int index, Gid gid, GidType type, int netDeviceIndex) {
    /**
     * Creates an entry.
     *
     * @throws NullPointerException when the GID or its type is null
     */
    public GidEntry {
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(type, "type");
    }

    /**
     * Returns the name of the network device behind this address, as the kernel has it now.
     *
     * @return the name, such as {@code eth0}, or empty if there is none, or none in this process's network namespace
     * @throws VerbsException when too many files are open to find out (EMFILE)
     */
    public Optional<String> netDeviceName() {
        return netDeviceIndex == 0 ? Optional.empty() : SystemNetwork.nameOf(netDeviceIndex);
    }
}
