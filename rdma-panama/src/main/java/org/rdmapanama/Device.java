package org.rdmapanama;

import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.internal.provider.ProviderDevice;

/**
 * A device that is present, with what is known about it before it is opened. Safe for use by any thread.
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
     * Returns the kernel name; see ibv_get_device_name(3).
     *
     * @return the name, such as {@code mlx5_0} or {@code rxe0}
     * @verb ibv_get_device_name
     */
    public String name() {
        return device.name();
    }

    /**
     * Returns the globally unique identifier; see ibv_get_device_guid(3).
     *
     * @return the GUID as a number, most significant byte first
     * @verb ibv_get_device_guid
     */
    public long guid() {
        return device.guid();
    }

    /**
     * Returns the index in the kernel; see ibv_get_device_index(3).
     *
     * @return the index, or -1 if the kernel assigns none
     * @verb ibv_get_device_index
     */
    public int index() {
        return device.index();
    }

    /** {@return the kind of node that the device is} */
    public NodeType nodeType() {
        return NodeType.of(device.nodeType());
    }

    /** {@return the family of transports that the device has} */
    public TransportType transportType() {
        return TransportType.of(device.transportType());
    }

    /** Its name. */
    @Override
    public String toString() {
        return name();
    }
}
