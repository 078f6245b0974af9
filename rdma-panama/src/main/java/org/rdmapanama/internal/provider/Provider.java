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
     * Returns the devices present now; see ibv_get_device_list(3).
     *
     * @return the devices, possibly none
     * @throws NoRdmaException when there can be none, because required software is not installed, or not in the kernel
     * @throws ProviderException when the devices cannot be listed for another reason, which may be temporary
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
     * Returns a device of this provider that other code in this process has opened.
     *
     * @param context address of the struct ibv_context
     * @return the open device
     */
    public abstract ProviderContext at(long context);

    /**
     * {@return the connection manager that connects queue pairs of these devices by address, always the same one; null
     * if that is librdmacm}
     */
    public ConnectionManager connectionManager() {
        return null;
    }
}
