package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;

/**
 * What a device can do: a snapshot of {@code struct ibv_device_attr_ex}; see ibv_query_device_ex(3). The limits are
 * those of the whole device, not of what this process may have. Safe for use by any thread.
 *
 * <p>Where a driver does not know the extended verb, what only that one tells is 0 or empty.
 */
public final class DeviceAttributes {
    private static final ValueLayout.OfLong NETWORK_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private final MemorySegment extended;
    private final MemorySegment attributes;

    DeviceAttributes(MemorySegment snapshot) {
        extended = Snapshots.copy(snapshot);
        attributes = ibv_device_attr_ex.orig_attr(extended);
    }

    /**
     * Version of the firmware.
     *
     * @return text, possibly empty
     */
    public String firmwareVersion() {
        return ibv_device_attr.fw_ver(attributes).getString(0);
    }

    /**
     * GUID of the node.
     *
     * @return the GUID as a number, most significant byte first
     */
    public long nodeGuid() {
        return attributes.get(NETWORK_LONG, ibv_device_attr.node_guid$offset());
    }

    /**
     * GUID of the system that the node is part of.
     *
     * @return the GUID as a number, most significant byte first
     */
    public long systemImageGuid() {
        return attributes.get(NETWORK_LONG, ibv_device_attr.sys_image_guid$offset());
    }

    /**
     * The longest block that can be registered.
     *
     * @return its size in bytes, unsigned
     */
    public long maxMemoryRegionSize() {
        return ibv_device_attr.max_mr_size(attributes);
    }

    /**
     * Page sizes supported.
     *
     * @return a bit for each power of two, unsigned
     */
    public long pageSizes() {
        return ibv_device_attr.page_size_cap(attributes);
    }

    /**
     * How atomic its atomics are.
     *
     * @return whether they exist, and against whom
     */
    public AtomicCapability atomicCapability() {
        return AtomicCapability.of(ibv_device_attr.atomic_cap(attributes));
    }

    /**
     * Mask of the device's completion timestamps.
     *
     * @return the bits that a timestamp has, 0 when it has none
     */
    public long completionTimestampMask() {
        return ibv_device_attr_ex.completion_timestamp_mask(extended);
    }

    /**
     * Clock of the device's timestamps.
     *
     * @return its rate in kilohertz, 0 when it is not known
     */
    public long coreClockKilohertz() {
        return ibv_device_attr_ex.hca_core_clock(extended);
    }

    /**
     * What the device can do.
     *
     * @return the capabilities that have a constant, unmodifiable; {@link #deviceCapabilityFlags()} and
     *     {@link #extendedCapabilityFlags()} are all bits
     */
    public Set<DeviceCapability> capabilities() {
        // The lower half of the second field is what the kernel has there, which need not be what programs may use.
        long upper = extendedCapabilityFlags() & 0xffff_ffff_0000_0000L;
        return DeviceCapability.of(upper | Integer.toUnsignedLong(deviceCapabilityFlags()));
    }

    /**
     * Further capabilities, {@code device_cap_flags_ex}: what {@link #capabilities()} is made of, with bits that have
     * no constant.
     *
     * @return bits, of which the upper half counts
     */
    public long extendedCapabilityFlags() {
        return ibv_device_attr_ex.device_cap_flags_ex(extended);
    }

    /**
     * What it can do with memory that is paged on demand.
     *
     * @return the capabilities
     */
    public OnDemandPagingCapabilities onDemandPaging() {
        return OnDemandPagingCapabilities.read(extended);
    }

    /**
     * How it cuts long messages into TCP segments.
     *
     * @return the capabilities
     */
    public TsoCapabilities tsoCapabilities() {
        return TsoCapabilities.read(ibv_device_attr_ex.tso_caps(extended));
    }

    /**
     * How it spreads received packets over work queues.
     *
     * @return the capabilities
     */
    public RssCapabilities rssCapabilities() {
        return RssCapabilities.read(ibv_device_attr_ex.rss_caps(extended));
    }

    /**
     * Receive work queues at most.
     *
     * @return the number, unsigned; 0 when it has none
     */
    public long maxWorkQueues() {
        return Integer.toUnsignedLong(ibv_device_attr_ex.max_wq_type_rq(extended));
    }

    /**
     * How it limits the rate of a queue pair.
     *
     * @return the capabilities
     */
    public PacketPacingCapabilities packetPacing() {
        return PacketPacingCapabilities.read(ibv_device_attr_ex.packet_pacing_caps(extended));
    }

    /**
     * What it does with raw packets.
     *
     * @return the capabilities, unmodifiable
     */
    public Set<RawPacketCapability> rawPacketCapabilities() {
        return RawPacketCapability.of(ibv_device_attr_ex.raw_packet_caps(extended));
    }

    /**
     * How it matches messages with buffers by tag.
     *
     * @return the capabilities
     */
    public TagMatchingCapabilities tagMatching() {
        return TagMatchingCapabilities.read(ibv_device_attr_ex.tm_caps(extended));
    }

    /**
     * How far its completion queues can hold back their events.
     *
     * @return the capabilities
     */
    public CompletionQueueModerationCapabilities completionQueueModeration() {
        return CompletionQueueModerationCapabilities.read(ibv_device_attr_ex.cq_mod_caps(extended));
    }

    /**
     * Memory of its own that programs may have.
     *
     * @return bytes at most, unsigned; 0 when it has none
     */
    public long maxDeviceMemory() {
        return ibv_device_attr_ex.max_dm_size(extended);
    }

    /**
     * Atomic operations that it makes on the PCI bus.
     *
     * @return the capabilities
     */
    public PciAtomicCapabilities pciAtomics() {
        return PciAtomicCapabilities.read(ibv_device_attr_ex.pci_atomic_caps(extended));
    }

    /**
     * Vendor's identifier, an IEEE organisationally unique one.
     *
     * @return a number, unsigned
     */
    public int vendorId() {
        return ibv_device_attr.vendor_id(attributes);
    }

    /**
     * Vendor's part number.
     *
     * @return the number
     */
    public int vendorPartId() {
        return ibv_device_attr.vendor_part_id(attributes);
    }

    /**
     * Hardware version.
     *
     * @return the number
     */
    public int hardwareVersion() {
        return ibv_device_attr.hw_ver(attributes);
    }

    /**
     * Queue pairs at most.
     *
     * @return the number
     */
    public int maxQueuePairs() {
        return ibv_device_attr.max_qp(attributes);
    }

    /**
     * Work requests outstanding on one queue at most.
     *
     * @return the number
     */
    public int maxWorkRequests() {
        return ibv_device_attr.max_qp_wr(attributes);
    }

    /**
     * Capabilities, bits of {@code enum ibv_device_cap_flags}: what {@link #capabilities()} is made of, with bits that
     * have no constant.
     *
     * @return bits
     */
    public int deviceCapabilityFlags() {
        return ibv_device_attr.device_cap_flags(attributes);
    }

    /**
     * Scatter/gather segments of one work request at most.
     *
     * @return the number
     */
    public int maxSegments() {
        return ibv_device_attr.max_sge(attributes);
    }

    /**
     * Segments of one RDMA READ at most.
     *
     * @return the number
     */
    public int maxReadSegments() {
        return ibv_device_attr.max_sge_rd(attributes);
    }

    /**
     * Completion queues at most.
     *
     * @return the number
     */
    public int maxCompletionQueues() {
        return ibv_device_attr.max_cq(attributes);
    }

    /**
     * Entries of one completion queue at most.
     *
     * @return the number
     */
    public int maxCompletionQueueEntries() {
        return ibv_device_attr.max_cqe(attributes);
    }

    /**
     * Memory regions at most.
     *
     * @return the number
     */
    public int maxMemoryRegions() {
        return ibv_device_attr.max_mr(attributes);
    }

    /**
     * Protection domains at most.
     *
     * @return the number
     */
    public int maxProtectionDomains() {
        return ibv_device_attr.max_pd(attributes);
    }

    /**
     * RDMA reads and atomics outstanding as target, per queue pair.
     *
     * @return the number
     */
    public int maxReadAtomicAsTarget() {
        return ibv_device_attr.max_qp_rd_atom(attributes);
    }

    /**
     * RDMA reads and atomics outstanding as target, whole device.
     *
     * @return the number
     */
    public int maxReadAtomicResources() {
        return ibv_device_attr.max_res_rd_atom(attributes);
    }

    /**
     * RDMA reads and atomics outstanding as initiator, per queue pair.
     *
     * @return the number
     */
    public int maxReadAtomicAsInitiator() {
        return ibv_device_attr.max_qp_init_rd_atom(attributes);
    }

    /**
     * RDMA reads and atomics outstanding as target, per end-to-end context; obsolete.
     *
     * @return the number
     */
    public int maxEndToEndReadAtomicAsTarget() {
        return ibv_device_attr.max_ee_rd_atom(attributes);
    }

    /**
     * RDMA reads and atomics outstanding as initiator, per end-to-end context; obsolete.
     *
     * @return the number
     */
    public int maxEndToEndReadAtomicAsInitiator() {
        return ibv_device_attr.max_ee_init_rd_atom(attributes);
    }

    /**
     * End-to-end contexts at most.
     *
     * @return the number
     */
    public int maxEndToEndContexts() {
        return ibv_device_attr.max_ee(attributes);
    }

    /**
     * Reliable datagram domains at most.
     *
     * @return the number
     */
    public int maxReliableDatagramDomains() {
        return ibv_device_attr.max_rdd(attributes);
    }

    /**
     * Memory windows at most.
     *
     * @return the number
     */
    public int maxMemoryWindows() {
        return ibv_device_attr.max_mw(attributes);
    }

    /**
     * Raw IPv6 datagram queue pairs at most.
     *
     * @return the number
     */
    public int maxRawIpv6QueuePairs() {
        return ibv_device_attr.max_raw_ipv6_qp(attributes);
    }

    /**
     * Raw Ethertype datagram queue pairs at most.
     *
     * @return the number
     */
    public int maxRawEthernetQueuePairs() {
        return ibv_device_attr.max_raw_ethy_qp(attributes);
    }

    /**
     * Multicast groups at most.
     *
     * @return the number
     */
    public int maxMulticastGroups() {
        return ibv_device_attr.max_mcast_grp(attributes);
    }

    /**
     * Queue pairs attached to one multicast group at most.
     *
     * @return the number
     */
    public int maxMulticastQueuePairs() {
        return ibv_device_attr.max_mcast_qp_attach(attributes);
    }

    /**
     * Queue pairs attached to all multicast groups at most.
     *
     * @return the number
     */
    public int maxTotalMulticastQueuePairs() {
        return ibv_device_attr.max_total_mcast_qp_attach(attributes);
    }

    /**
     * Address handles at most.
     *
     * @return the number
     */
    public int maxAddressHandles() {
        return ibv_device_attr.max_ah(attributes);
    }

    /**
     * Fast memory regions at most; obsolete.
     *
     * @return the number
     */
    public int maxFastMemoryRegions() {
        return ibv_device_attr.max_fmr(attributes);
    }

    /**
     * Maps of one fast memory region at most; obsolete.
     *
     * @return the number
     */
    public int maxMapsPerFastMemoryRegion() {
        return ibv_device_attr.max_map_per_fmr(attributes);
    }

    /**
     * Shared receive queues at most.
     *
     * @return the number
     */
    public int maxSharedReceiveQueues() {
        return ibv_device_attr.max_srq(attributes);
    }

    /**
     * Work requests of one shared receive queue at most.
     *
     * @return the number
     */
    public int maxSharedReceiveWorkRequests() {
        return ibv_device_attr.max_srq_wr(attributes);
    }

    /**
     * Segments of a work request of a shared receive queue at most.
     *
     * @return the number
     */
    public int maxSharedReceiveSegments() {
        return ibv_device_attr.max_srq_sge(attributes);
    }

    /**
     * Partitions at most.
     *
     * @return the number
     */
    public int maxPartitions() {
        return Short.toUnsignedInt(ibv_device_attr.max_pkeys(attributes));
    }

    /**
     * Acknowledge delay of this device: 4.096 microseconds times two to this power.
     *
     * @return the number
     */
    public int localAckDelay() {
        return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(attributes));
    }

    /**
     * Number of ports that a port number of verbs reaches.
     *
     * @return 1 to 255; {@link #physicalPortsExtended()} is the number of a device that has more
     */
    public int physicalPorts() {
        return Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attributes));
    }

    /**
     * Number of ports, also where there are more than 255.
     *
     * @return the number; 0 when the library or the driver does not tell, then {@link #physicalPorts()} is right
     */
    public long physicalPortsExtended() {
        return Integer.toUnsignedLong(ibv_device_attr_ex.phys_port_cnt_ex(extended));
    }
}
