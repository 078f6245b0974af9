package org.rdmapanama.internal.provider;

import java.util.List;

/**
 * A source of RDMA devices: libibverbs, or a software device.
 *
 * <p>Implementations are safe for use by any thread.
 */
public abstract class Provider {
    /** For subclasses. */
    protected Provider() {}

    /**
     * The devices present now; see ibv_get_device_list(3).
     *
     * @return what is there, possibly nothing
     * @throws NoRdmaException when there can be none, because what they need is not installed, or not in the kernel
     * @throws ProviderException when the list cannot be had for another reason, which may have passed the next time
     */
    public abstract List<ProviderDevice> devices();

    /**
     * Opens a device; see ibv_open_device(3).
     *
     * @param device one of {@link #devices()}
     * @return the open device
     * @throws ProviderException when the device has gone or cannot be opened
     */
    public abstract ProviderContext open(ProviderDevice device);

    /**
     * A device of this provider that other code of this process has opened.
     *
     * @param context address of the struct ibv_context
     * @return the open device
     */
    public abstract ProviderContext at(long context);

    /**
     * What connects queue pairs of these devices by address, where that is not librdmacm.
     *
     * @return the connection manager, the same each time, or null
     */
    public ConnectionManager connectionManager() {
        return null;
    }
}
