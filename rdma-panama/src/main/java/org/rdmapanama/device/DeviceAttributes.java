package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.Snapshots;

/**
 * The capabilities and limits of a device: a snapshot of {@code struct ibv_device_attr_ex}; see ibv_query_device_ex(3).
 * The limits are those of the whole device, not of this process. Safe for use by any thread.
 *
 * <p>If a driver does not support the extended verb, attributes that only that verb returns are 0 or empty.
 */
public final class DeviceAttributes {
    private static final ValueLayout.OfLong NETWORK_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final MemorySegment extended;
    private final MemorySegment attributes;

    private DeviceAttributes(MemorySegment snapshot) {
        extended = snapshot;
        attributes = ibv_device_attr_ex.orig_attr(extended);
    }

    /**
     * Copies the attributes that native code has read of a device.
     *
     * @param struct a {@code struct ibv_device_attr_ex}; it is not used after this call
     * @return the attributes
     */
    public static DeviceAttributes ofNative(MemorySegment struct) {
        return new DeviceAttributes(Snapshots.copy(struct));
    }

    /** {@return the firmware version, possibly empty} */
    public String firmwareVersion() {
        return ibv_device_attr.fw_ver(attributes).getString(0);
    }

    /** {@return the GUID of the node, most significant byte first} */
    public long nodeGuid() {
        return attributes.get(NETWORK_LONG, ibv_device_attr.node_guid$offset());
    }

    /** {@return the GUID of the system that the node is part of, most significant byte first} */
    public long systemImageGuid() {
        return attributes.get(NETWORK_LONG, ibv_device_attr.sys_image_guid$offset());
    }

    /** {@return the size of the longest block that can be registered, in bytes, unsigned} */
    public long maxMemoryRegionSize() {
        return ibv_device_attr.max_mr_size(attributes);
    }

    /** {@return the supported page sizes, one bit for each power of two, unsigned} */
    public long pageSizes() {
        return ibv_device_attr.page_size_cap(attributes);
    }

    /** {@return the scope in which atomic operations are atomic} */
    public AtomicCapability atomicCapability() {
        return AtomicCapability.of(ibv_device_attr.atomic_cap(attributes));
    }

    /** {@return the mask of the bits that completion timestamps have; 0 if the device has no timestamps} */
    public long completionTimestampMask() {
        return ibv_device_attr_ex.completion_timestamp_mask(extended);
    }

    /** {@return the rate of the timestamp clock in kilohertz; 0 if it is not known} */
    public long coreClockKilohertz() {
        return ibv_device_attr_ex.hca_core_clock(extended);
    }

    /**
     * {@return the capabilities that have a constant, an unmodifiable set. {@link #deviceCapabilityFlags()} and {@link
     * #extendedCapabilityFlags()} return all bits}
     */
    public Set<DeviceCapability> capabilities() {
        // The lower half of the second field holds the kernel's flags, which programs may not be able to use.
        long upper = extendedCapabilityFlags() & 0xffff_ffff_0000_0000L;
        return Codes.flags(
                DeviceCapability.class,
                DeviceCapability::code,
                upper | Integer.toUnsignedLong(deviceCapabilityFlags()));
    }

    /** {@return all bits of {@code device_cap_flags_ex}, of which {@link #capabilities()} uses the upper half} */
    public long extendedCapabilityFlags() {
        return ibv_device_attr_ex.device_cap_flags_ex(extended);
    }

    /** {@return the capabilities for memory that is paged on demand} */
    public OnDemandPagingCapabilities onDemandPaging() {
        return OnDemandPagingCapabilities.read(extended);
    }

    /** {@return the capabilities for cutting long messages into TCP segments} */
    public TsoCapabilities tsoCapabilities() {
        return TsoCapabilities.read(ibv_device_attr_ex.tso_caps(extended));
    }

    /** {@return the capabilities for spreading received packets over work queues} */
    public RssCapabilities rssCapabilities() {
        return RssCapabilities.read(ibv_device_attr_ex.rss_caps(extended));
    }

    /** {@return the maximum number of receive work queues, unsigned; 0 if the device has none} */
    public long maxWorkQueues() {
        return Integer.toUnsignedLong(ibv_device_attr_ex.max_wq_type_rq(extended));
    }

    /** {@return the capabilities for limiting the rate of a queue pair} */
    public PacketPacingCapabilities packetPacing() {
        return PacketPacingCapabilities.read(ibv_device_attr_ex.packet_pacing_caps(extended));
    }

    /** {@return the capabilities for raw packets, an unmodifiable set} */
    public Set<RawPacketCapability> rawPacketCapabilities() {
        return Codes.flags(
                RawPacketCapability.class, RawPacketCapability::code, ibv_device_attr_ex.raw_packet_caps(extended));
    }

    /** {@return the capabilities for matching messages with buffers by tag} */
    public TagMatchingCapabilities tagMatching() {
        return TagMatchingCapabilities.read(ibv_device_attr_ex.tm_caps(extended));
    }

    /** {@return the capabilities for delaying the events of completion queues} */
    public CompletionQueueModerationCapabilities completionQueueModeration() {
        return CompletionQueueModerationCapabilities.read(ibv_device_attr_ex.cq_mod_caps(extended));
    }

    /** {@return the maximum amount of device memory for programs in bytes, unsigned; 0 if the device has none} */
    public long maxDeviceMemory() {
        return ibv_device_attr_ex.max_dm_size(extended);
    }

    /** {@return the atomic operations that the device performs on the PCI bus} */
    public PciAtomicCapabilities pciAtomics() {
        return PciAtomicCapabilities.read(ibv_device_attr_ex.pci_atomic_caps(extended));
    }

    /** {@return the IEEE organizationally unique identifier of the vendor, unsigned} */
    public int vendorId() {
        return ibv_device_attr.vendor_id(attributes);
    }

    /** {@return the vendor's part number} */
    public int vendorPartId() {
        return ibv_device_attr.vendor_part_id(attributes);
    }

    /** {@return the hardware version} */
    public int hardwareVersion() {
        return ibv_device_attr.hw_ver(attributes);
    }

    /** {@return the maximum number of queue pairs} */
    public int maxQueuePairs() {
        return ibv_device_attr.max_qp(attributes);
    }

    /** {@return the maximum number of outstanding work requests on one queue} */
    public int maxWorkRequests() {
        return ibv_device_attr.max_qp_wr(attributes);
    }

    /** {@return all bits of {@code enum ibv_device_cap_flags}, which {@link #capabilities()} uses} */
    public int deviceCapabilityFlags() {
        return ibv_device_attr.device_cap_flags(attributes);
    }

    /** {@return the maximum number of scatter/gather segments of one work request} */
    public int maxSegments() {
        return ibv_device_attr.max_sge(attributes);
    }

    /** {@return the maximum number of segments of one RDMA READ} */
    public int maxReadSegments() {
        return ibv_device_attr.max_sge_rd(attributes);
    }

    /** {@return the maximum number of completion queues} */
    public int maxCompletionQueues() {
        return ibv_device_attr.max_cq(attributes);
    }

    /** {@return the maximum number of entries of one completion queue} */
    public int maxCompletionQueueEntries() {
        return ibv_device_attr.max_cqe(attributes);
    }

    /** {@return the maximum number of memory regions} */
    public int maxMemoryRegions() {
        return ibv_device_attr.max_mr(attributes);
    }

    /** {@return the maximum number of protection domains} */
    public int maxProtectionDomains() {
        return ibv_device_attr.max_pd(attributes);
    }

    /** {@return the maximum number of outstanding RDMA reads and atomics as target, per queue pair} */
    public int maxReadAtomicAsTarget() {
        return ibv_device_attr.max_qp_rd_atom(attributes);
    }

    /** {@return the maximum number of outstanding RDMA reads and atomics as target, for the whole device} */
    public int maxReadAtomicResources() {
        return ibv_device_attr.max_res_rd_atom(attributes);
    }

    /** {@return the maximum number of outstanding RDMA reads and atomics as initiator, per queue pair} */
    public int maxReadAtomicAsInitiator() {
        return ibv_device_attr.max_qp_init_rd_atom(attributes);
    }

    /**
     * {@return the maximum number of outstanding RDMA reads and atomics as target, per end-to-end context; obsolete}
     */
    public int maxEndToEndReadAtomicAsTarget() {
        return ibv_device_attr.max_ee_rd_atom(attributes);
    }

    /**
     * {@return the maximum number of outstanding RDMA reads and atomics as initiator, per end-to-end context; obsolete}
     */
    public int maxEndToEndReadAtomicAsInitiator() {
        return ibv_device_attr.max_ee_init_rd_atom(attributes);
    }

    /** {@return the maximum number of end-to-end contexts} */
    public int maxEndToEndContexts() {
        return ibv_device_attr.max_ee(attributes);
    }

    /** {@return the maximum number of reliable datagram domains} */
    public int maxReliableDatagramDomains() {
        return ibv_device_attr.max_rdd(attributes);
    }

    /** {@return the maximum number of memory windows} */
    public int maxMemoryWindows() {
        return ibv_device_attr.max_mw(attributes);
    }

    /** {@return the maximum number of raw IPv6 datagram queue pairs} */
    public int maxRawIpv6QueuePairs() {
        return ibv_device_attr.max_raw_ipv6_qp(attributes);
    }

    /** {@return the maximum number of raw Ethertype datagram queue pairs} */
    public int maxRawEthernetQueuePairs() {
        return ibv_device_attr.max_raw_ethy_qp(attributes);
    }

    /** {@return the maximum number of multicast groups} */
    public int maxMulticastGroups() {
        return ibv_device_attr.max_mcast_grp(attributes);
    }

    /** {@return the maximum number of queue pairs attached to one multicast group} */
    public int maxMulticastQueuePairs() {
        return ibv_device_attr.max_mcast_qp_attach(attributes);
    }

    /** {@return the maximum number of queue pairs attached to all multicast groups} */
    public int maxTotalMulticastQueuePairs() {
        return ibv_device_attr.max_total_mcast_qp_attach(attributes);
    }

    /** {@return the maximum number of address handles} */
    public int maxAddressHandles() {
        return ibv_device_attr.max_ah(attributes);
    }

    /** {@return the maximum number of fast memory regions; obsolete} */
    public int maxFastMemoryRegions() {
        return ibv_device_attr.max_fmr(attributes);
    }

    /** {@return the maximum number of maps of one fast memory region; obsolete} */
    public int maxMapsPerFastMemoryRegion() {
        return ibv_device_attr.max_map_per_fmr(attributes);
    }

    /** {@return the maximum number of shared receive queues} */
    public int maxSharedReceiveQueues() {
        return ibv_device_attr.max_srq(attributes);
    }

    /** {@return the maximum number of work requests of one shared receive queue} */
    public int maxSharedReceiveWorkRequests() {
        return ibv_device_attr.max_srq_wr(attributes);
    }

    /** {@return the maximum number of segments of a work request of a shared receive queue} */
    public int maxSharedReceiveSegments() {
        return ibv_device_attr.max_srq_sge(attributes);
    }

    /** {@return the maximum number of partitions} */
    public int maxPartitions() {
        return Short.toUnsignedInt(ibv_device_attr.max_pkeys(attributes));
    }

    /** {@return the acknowledgement delay of this device, as the exponent n in 4.096 microseconds * 2<sup>n</sup>} */
    public int localAckDelay() {
        return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(attributes));
    }

    /**
     * {@return the number of ports that a port number of verbs can address, 1 to 255; {@link #physicalPortsExtended()}
     * is the number of a device that has more}
     */
    public int physicalPorts() {
        return Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attributes));
    }

    /**
     * {@return the number of ports, also if there are more than 255; 0 if the library or the driver does not report it,
     * and then {@link #physicalPorts()} is correct}
     */
    public long physicalPortsExtended() {
        return Integer.toUnsignedLong(ibv_device_attr_ex.phys_port_cnt_ex(extended));
    }

    /** Vendor, firmware, ports, the limits that programs meet first, and capabilities. */
    @Override
    public String toString() {
        return "vendor 0x" + Integer.toHexString(vendorId()) + ", part " + vendorPartId() + ", firmware "
                + (firmwareVersion().isEmpty() ? "unknown" : firmwareVersion()) + ", ports " + physicalPorts()
                + ", at most " + maxQueuePairs() + " queue pairs of " + maxWorkRequests() + " work requests and "
                + maxSegments() + " segments, " + maxCompletionQueues() + " completion queues of "
                + maxCompletionQueueEntries() + " entries, " + maxMemoryRegions() + " memory regions of "
                + Long.toUnsignedString(maxMemoryRegionSize()) + " bytes, " + maxProtectionDomains()
                + " protection domains, " + maxReadAtomicAsTarget() + " reads and atomics as target and "
                + maxReadAtomicAsInitiator() + " as initiator, atomics " + atomicCapability() + ", capabilities "
                + capabilities();
    }
}
