package org.rdmapanama;

import org.rdmapanama.internal.provider.ProviderDevice;

/**
 * A device that is present: what is known of it before it is opened. Safe for use by any thread.
 *
 * @see DeviceList
 * @see Context#open(VerbsArena, Device)
 */
public final class Device {
    private final ProviderDevice device;

    Device(ProviderDevice device) {
        this.device = device;
    }

    ProviderDevice providerDevice() {
        return device;
    }

    /**
     * Its kernel name; see ibv_get_device_name(3).
     *
     * @return such as {@code mlx5_0} or {@code rxe0}
     * @verb ibv_get_device_name
     */
    public String name() {
        return device.name();
    }

    /**
     * Its globally unique identifier; see ibv_get_device_guid(3).
     *
     * @return the GUID as a number, most significant byte first
     * @verb ibv_get_device_guid
     */
    public long guid() {
        return device.guid();
    }

    /**
     * Its index in the kernel; see ibv_get_device_index(3).
     *
     * @return the index, or -1 when the kernel gives none
     * @verb ibv_get_device_index
     */
    public int index() {
        return device.index();
    }

    /**
     * What kind of node it is.
     *
     * @return the kind
     */
    public NodeType nodeType() {
        return NodeType.of(device.nodeType());
    }

    /**
     * Which family of transports it has.
     *
     * @return the family
     */
    public TransportType transportType() {
        return TransportType.of(device.transportType());
    }

    /** Its name. */
    @Override
    public String toString() {
        return name();
    }
}
