package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.address.GidType;
import org.rdmapanama.device.AtomicCapability;
import org.rdmapanama.device.CompletionQueueModerationCapabilities;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.device.DeviceCapability;
import org.rdmapanama.device.LinkLayer;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.device.OnDemandPagingCapabilities;
import org.rdmapanama.device.PacketPacingCapabilities;
import org.rdmapanama.device.PciAtomicCapabilities;
import org.rdmapanama.device.PortAttributes;
import org.rdmapanama.device.PortState;
import org.rdmapanama.device.RssCapabilities;
import org.rdmapanama.device.TagMatchingCapabilities;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.device.TsoCapabilities;

/** Describes one device in the terms of ibv_devinfo: people search for {@code max_qp_wr}, not for a translation. */
public final class DeviceReport {
    private static final String NOT_SUPPORTED = "not supported";

    private final PrintWriter out;
    private final boolean verbose;

    /**
     * Creates a report.
     *
     * @param out receives the text
     * @param verbose whether to print all attributes, and the GID tables
     */
    public DeviceReport(PrintWriter out, boolean verbose) {
        this.out = out;
        this.verbose = verbose;
    }

    /**
     * Prints a device and its ports.
     *
     * @param device the device
     * @param context its context
     * @param onlyPort the only port to print, from 1, or 0 for all
     * @throws Failure if there is no such port
     */
    public void print(Device device, Context context, int onlyPort) {
        DeviceAttributes attributes = context.queryDevice();
        int ports = attributes.physicalPorts();
        if (onlyPort > ports) {
            throw new Failure(context + " has no port " + onlyPort + ": it has " + ports + ", numbered from 1");
        }
        out.println("hca_id: " + device.name());
        printDevice(device, context, attributes);
        if (verbose) {
            printLimits(attributes);
            printGroups(attributes);
            device("num_comp_vectors", context.completionVectors());
        }
        for (int port = 1; port <= ports; port++) {
            if (onlyPort == 0 || onlyPort == port) {
                printPort(device, context, context.queryPort(port));
            }
        }
        out.println();
        out.flush();
    }

    private void printDevice(Device device, Context context, DeviceAttributes attributes) {
        device(
                "transport",
                transport(device.transportType()) + code(device.transportType().code()));
        device("driver", context.driverName());
        if (!attributes.firmwareVersion().isEmpty()) {
            device("fw_ver", attributes.firmwareVersion());
        }
        device("node_guid", guid(attributes.nodeGuid()));
        device("sys_image_guid", guid(attributes.systemImageGuid()));
        device("vendor_id", "0x%04x".formatted(attributes.vendorId()));
        device("vendor_part_id", attributes.vendorPartId());
        device("hw_ver", "0x%x".formatted(attributes.hardwareVersion()));
        String board = boardId(device.name());
        if (!board.isEmpty()) {
            device("board_id", board);
        }
        device("phys_port_cnt", attributes.physicalPorts());
    }

    private static String boardId(String device) {
        try {
            return Files.readString(Path.of("/sys/class/infiniband", device, "board_id"))
                    .strip();
        } catch (IOException none) {
            return "";
        }
    }

    private void printLimits(DeviceAttributes a) {
        device("max_mr_size", "0x%x".formatted(a.maxMemoryRegionSize()));
        device("page_size_cap", "0x%x".formatted(a.pageSizes()));
        device("max_qp", a.maxQueuePairs());
        device("max_qp_wr", a.maxWorkRequests());
        device("device_cap_flags", "0x%08x".formatted(a.deviceCapabilityFlags()));
        capabilities(Integer.toUnsignedLong(a.deviceCapabilityFlags())).forEach(name -> device("", name));
        device("max_sge", a.maxSegments());
        device("max_sge_rd", a.maxReadSegments());
        device("max_cq", a.maxCompletionQueues());
        device("max_cqe", a.maxCompletionQueueEntries());
        device("max_mr", a.maxMemoryRegions());
        device("max_pd", a.maxProtectionDomains());
        device("max_qp_rd_atom", a.maxReadAtomicAsTarget());
        device("max_ee_rd_atom", a.maxEndToEndReadAtomicAsTarget());
        device("max_res_rd_atom", a.maxReadAtomicResources());
        device("max_qp_init_rd_atom", a.maxReadAtomicAsInitiator());
        device("max_ee_init_rd_atom", a.maxEndToEndReadAtomicAsInitiator());
        device(
                "atomic_cap",
                atomics(a.atomicCapability()) + code(a.atomicCapability().code()));
        device("max_ee", a.maxEndToEndContexts());
        device("max_rdd", a.maxReliableDatagramDomains());
        device("max_mw", a.maxMemoryWindows());
        device("max_raw_ipv6_qp", a.maxRawIpv6QueuePairs());
        device("max_raw_ethy_qp", a.maxRawEthernetQueuePairs());
        device("max_mcast_grp", a.maxMulticastGroups());
        device("max_mcast_qp_attach", a.maxMulticastQueuePairs());
        device("max_total_mcast_qp_attach", a.maxTotalMulticastQueuePairs());
        device("max_ah", a.maxAddressHandles());
        device("max_fmr", a.maxFastMemoryRegions());
        if (a.maxFastMemoryRegions() != 0) {
            device("max_map_per_fmr", a.maxMapsPerFastMemoryRegion());
        }
        device("max_srq", a.maxSharedReceiveQueues());
        if (a.maxSharedReceiveQueues() != 0) {
            device("max_srq_wr", a.maxSharedReceiveWorkRequests());
            device("max_srq_sge", a.maxSharedReceiveSegments());
        }
        device("max_pkeys", a.maxPartitions());
        device("local_ca_ack_delay", a.localAckDelay());
    }

    /** Prints what ibv_query_device_ex adds: a line or a block for each group. */
    private void printGroups(DeviceAttributes a) {
        printOnDemandPaging(a.onDemandPaging());
        device(
                "completion_timestamp_mask",
                a.completionTimestampMask() == 0 ? NOT_SUPPORTED : "0x%016x".formatted(a.completionTimestampMask()));
        device("hca_core_clock", a.coreClockKilohertz() == 0 ? NOT_SUPPORTED : a.coreClockKilohertz() + " kHz");
        device("device_cap_flags_ex", "0x%x".formatted(a.extendedCapabilityFlags()));
        capabilities(a.extendedCapabilityFlags() & 0xffff_ffff_0000_0000L).forEach(name -> device("", name));
        TsoCapabilities tso = a.tsoCapabilities();
        device(
                "tso_caps",
                tso.maxPayload() == 0
                        ? NOT_SUPPORTED
                        : bytes(tso.maxPayload()) + " at most, on " + names(tso.queuePairTypes()));
        printRss(a.rssCapabilities());
        device("max_wq_type_rq", a.maxWorkQueues());
        PacketPacingCapabilities pacing = a.packetPacing();
        device(
                "packet_pacing_caps",
                pacing.maxRate() == 0
                        ? NOT_SUPPORTED
                        : pacing.minRate() + " to " + pacing.maxRate() + " kbit/s, on "
                                + names(pacing.queuePairTypes()));
        device("raw_packet_caps", names(a.rawPacketCapabilities()));
        printTagMatching(a.tagMatching());
        CompletionQueueModerationCapabilities moderation = a.completionQueueModeration();
        device(
                "cq_mod_caps",
                moderation.maxCount() == 0 || moderation.maxPeriodMicros() == 0
                        ? NOT_SUPPORTED
                        : "up to " + moderation.maxCount() + " completions, " + moderation.maxPeriodMicros() + " us");
        device("max_dm_size", a.maxDeviceMemory() == 0 ? NOT_SUPPORTED : bytes(a.maxDeviceMemory()));
        PciAtomicCapabilities pci = a.pciAtomics();
        device("pci_atomic_caps.fetch_add", names(pci.fetchAdd()));
        device("pci_atomic_caps.swap", names(pci.swap()));
        device("pci_atomic_caps.compare_swap", names(pci.compareSwap()));
        device("phys_port_cnt_ex", a.physicalPortsExtended());
    }

    private void printOnDemandPaging(OnDemandPagingCapabilities odp) {
        if (!odp.explicit() && !odp.implicit()) {
            device("odp_caps", NOT_SUPPORTED);
            return;
        }
        device("odp_caps", (odp.explicit() ? "explicit" : "") + (odp.implicit() ? " implicit" : ""));
        device("odp_caps.rc", names(odp.reliableConnected()));
        device("odp_caps.uc", names(odp.unreliableConnected()));
        device("odp_caps.ud", names(odp.unreliableDatagram()));
        device("odp_caps.xrc", names(odp.extendedReliableConnected()));
    }

    private void printRss(RssCapabilities rss) {
        if (rss.queuePairTypes().isEmpty()) {
            device("rss_caps", NOT_SUPPORTED);
            return;
        }
        device("rss_caps", "on " + names(rss.queuePairTypes()));
        device("max_rwq_indirection_tables", rss.maxIndirectionTables());
        device("max_rwq_indirection_table_size", rss.maxIndirectionTableSize());
        device("rss_caps.hash_function", names(rss.hashFunctions()));
        device("rss_caps.hash_fields", names(rss.hashFields()));
    }

    private void printTagMatching(TagMatchingCapabilities tags) {
        if (tags.maxTags() == 0) {
            device("tm_caps", NOT_SUPPORTED);
            return;
        }
        device("tm_caps", "on " + names(tags.transports()));
        device("tm_caps.max_num_tags", tags.maxTags());
        device("tm_caps.max_rndv_hdr_size", bytes(tags.maxRendezvousHeaderSize()));
        device("tm_caps.max_ops", tags.maxOperations());
        device("tm_caps.max_sge", tags.maxSegments());
    }

    private static String names(Set<?> constants) {
        return constants.isEmpty()
                ? "none"
                : constants.stream().map(Object::toString).collect(Collectors.joining(" "));
    }

    private static String bytes(long count) {
        return count + " bytes (" + ByteSize.format(count) + ")";
    }

    /** Returns the names of the bits that are set, and the unknown ones as a number. */
    static List<String> capabilities(long flags) {
        List<String> names = new ArrayList<>();
        long unknown = flags;
        for (DeviceCapability capability : DeviceCapability.values()) {
            if ((flags & capability.code()) != 0) {
                names.add(capability.name());
                unknown &= ~capability.code();
            }
        }
        if (unknown != 0) {
            names.add("others: 0x%x".formatted(unknown));
        }
        return names;
    }

    private void printPort(Device device, Context context, PortAttributes p) {
        out.println("    port: " + p.port());
        port("state", state(p.state()) + code(p.state().code()));
        port("max_mtu", mtu(p.maxMtu()));
        port("active_mtu", mtu(p.activeMtu()));
        port("sm_lid", p.subnetManagerLid());
        port("port_lid", p.lid());
        port("port_lmc", "0x%02x".formatted(p.lidMaskControl()));
        port("link_layer", linkLayer(p.linkLayer()));
        if (!verbose) {
            return;
        }
        port("max_msg_sz", "0x%x (%s)".formatted(p.maxMessageSize(), ByteSize.format(p.maxMessageSize())));
        port("port_cap_flags", "0x%08x".formatted(p.capabilityFlags()));
        p.capabilities().forEach(capability -> port("", capability));
        port("port_cap_flags2", "0x%04x".formatted(p.capabilityMask2()));
        p.extendedCapabilities().forEach(capability -> port("", capability));
        port("max_vl_num", virtualLanes(p.maxVirtualLanes()) + code(p.maxVirtualLanes()));
        port("bad_pkey_cntr", "0x%x".formatted(p.badPkeyCounter()));
        port("qkey_viol_cntr", "0x%x".formatted(p.qkeyViolationCounter()));
        port("sm_sl", p.subnetManagerServiceLevel());
        port("pkey_tbl_len", p.pkeyTableLength());
        port("gid_tbl_len", p.gidTableLength());
        port("subnet_timeout", p.subnetTimeout());
        port("init_type_reply", p.initTypeReply());
        port("active_width", width(p.activeWidth()) + code(p.activeWidth()));
        port("active_speed", speed(p.activeSpeed()) + code(p.activeSpeed()));
        port("rate", p.gigabitsPerSecond() == 0 ? "unknown" : p.gigabitsPerSecond() + " Gb/s");
        port("grh_required", p.grhRequired() ? "yes" : "no");
        if (device.transportType() == TransportType.IB) {
            port("phys_state", physicalState(p.physicalState()) + code(p.physicalState()));
        }
        for (GidEntry entry : context.queryGidTable()) {
            if (entry.port() == p.port()) {
                port("GID[%3d]".formatted(entry.index()), gid(entry));
            }
        }
    }

    private static String gid(GidEntry entry) {
        if (entry.type() == GidType.IB) {
            return entry.gid().toString();
        }
        String type = entry.type() == GidType.ROCE_V1 ? "RoCE v1" : "RoCE v2";
        String netDevice = entry.netDeviceName().map(name -> ", " + name).orElse("");
        return GidText.of(entry.gid()) + ", " + type + netDevice;
    }

    private void device(String name, Object value) {
        out.printf("    %-32s%s%n", name.isEmpty() ? "" : name + ":", value);
    }

    private void port(String name, Object value) {
        out.printf("        %-28s%s%n", name.isEmpty() ? "" : name + ":", value);
    }

    /** Some ports do not report it. */
    private static String mtu(Mtu mtu) {
        return mtu == null ? "unknown" : mtu.bytes() + code(mtu.code());
    }

    private static String code(int code) {
        return " (" + code + ")";
    }

    static String guid(long guid) {
        return "%04x:%04x:%04x:%04x".formatted(guid >>> 48, guid >>> 32 & 0xffff, guid >>> 16 & 0xffff, guid & 0xffff);
    }

    static String transport(TransportType type) {
        return switch (type) {
            case IB -> "InfiniBand";
            case IWARP -> "iWARP";
            case USNIC -> "usNIC";
            case USNIC_UDP -> "usNIC UDP";
            case UNSPECIFIED -> "unspecified";
            case UNKNOWN -> "unknown";
        };
    }

    private static String state(PortState state) {
        return switch (state) {
            case DOWN -> "PORT_DOWN";
            case INIT -> "PORT_INIT";
            case ARMED -> "PORT_ARMED";
            case ACTIVE -> "PORT_ACTIVE";
            case ACTIVE_DEFER -> "PORT_ACTIVE_DEFER";
            case NOP -> "PORT_NOP";
        };
    }

    private static String linkLayer(LinkLayer layer) {
        return switch (layer) {
            case ETHERNET -> "Ethernet";
            case INFINIBAND -> "InfiniBand";
            case UNSPECIFIED -> "Unspecified";
        };
    }

    private static String atomics(AtomicCapability capability) {
        return switch (capability) {
            case NONE -> "ATOMIC_NONE";
            case HCA -> "ATOMIC_HCA";
            case GLOBAL -> "ATOMIC_GLOB";
        };
    }

    private static String virtualLanes(int code) {
        return switch (code) {
            case 1 -> "1";
            case 2 -> "2";
            case 3 -> "4";
            case 4 -> "8";
            case 5 -> "15";
            default -> "unknown";
        };
    }

    private static String width(int code) {
        return switch (code) {
            case 1 -> "1X";
            case 2 -> "4X";
            case 4 -> "8X";
            case 8 -> "12X";
            case 16 -> "2X";
            default -> "unknown";
        };
    }

    private static String speed(int code) {
        return switch (code) {
            case 1 -> "2.5 Gbps";
            case 2 -> "5.0 Gbps";
            case 4, 8 -> "10.0 Gbps";
            case 16 -> "14.0 Gbps";
            case 32 -> "25.0 Gbps";
            case 64 -> "50.0 Gbps";
            case 128 -> "100.0 Gbps";
            case 256 -> "200.0 Gbps";
            default -> "unknown";
        };
    }

    private static String physicalState(int code) {
        return switch (code) {
            case 1 -> "SLEEP";
            case 2 -> "POLLING";
            case 3 -> "DISABLED";
            case 4 -> "PORT_CONFIGURATION_TRAINING";
            case 5 -> "LINK_UP";
            case 6 -> "LINK_ERROR_RECOVERY";
            case 7 -> "PHY_TEST";
            default -> "unknown";
        };
    }
}
