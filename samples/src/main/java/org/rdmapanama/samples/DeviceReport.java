package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.AtomicCapability;
import org.rdmapanama.Context;
import org.rdmapanama.Device;
import org.rdmapanama.DeviceAttributes;
import org.rdmapanama.GidEntry;
import org.rdmapanama.GidType;
import org.rdmapanama.LinkLayer;
import org.rdmapanama.PortAttributes;
import org.rdmapanama.PortState;
import org.rdmapanama.TransportType;

/** Writes down one device in the words of ibv_devinfo: people search for {@code max_qp_wr}, not for a translation. */
final class DeviceReport {
    /** Bits of {@code enum ibv_device_cap_flags} that have a name, by place; empty where there is none. */
    private static final String[] CAPABILITIES = {
        "RESIZE_MAX_WR",
        "BAD_PKEY_CNTR",
        "BAD_QKEY_CNTR",
        "RAW_MULTI",
        "AUTO_PATH_MIG",
        "CHANGE_PHY_PORT",
        "UD_AV_PORT_ENFORCE",
        "CURR_QP_STATE_MOD",
        "SHUTDOWN_PORT",
        "INIT_TYPE",
        "PORT_ACTIVE_EVENT",
        "SYS_IMAGE_GUID",
        "RC_RNR_NAK_GEN",
        "SRQ_RESIZE",
        "N_NOTIFY_CQ",
        "",
        "",
        "MEM_WINDOW",
        "UD_IP_CSUM",
        "",
        "XRC",
        "MEM_MGT_EXTENSIONS",
        "",
        "MEM_WINDOW_TYPE_2A",
        "MEM_WINDOW_TYPE_2B",
        "RC_IP_CSUM",
        "RAW_IP_CSUM",
        "",
        "",
        "MANAGED_FLOW_STEERING",
    };

    private final PrintWriter out;
    private final boolean verbose;

    DeviceReport(PrintWriter out, boolean verbose) {
        this.out = out;
        this.verbose = verbose;
    }

    /** Prints a device with one port of it, or with all when that is 0. */
    void print(Device device, Context context, int onlyPort) {
        DeviceAttributes attributes = context.queryDevice();
        int ports = attributes.physicalPorts();
        if (onlyPort > ports) {
            throw new Failure(context + " has no port " + onlyPort + ": it has " + ports + ", counted from 1");
        }
        out.println("hca_id: " + device.name());
        printDevice(device, context, attributes);
        if (verbose) {
            printLimits(attributes);
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
        capabilities(a.deviceCapabilityFlags()).forEach(name -> device("", name));
        device("max_sge", a.maxSegments());
        device("max_sge_rd", a.maxReadSegments());
        device("max_cq", a.maxCompletionQueues());
        device("max_cqe", a.maxCompletionQueueEntries());
        device("max_mr", a.maxMemoryRegions());
        device("max_pd", a.maxProtectionDomains());
        device("max_qp_rd_atom", a.maxReadAtomicAsTarget());
        device("max_res_rd_atom", a.maxReadAtomicResources());
        device("max_qp_init_rd_atom", a.maxReadAtomicAsInitiator());
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
        device(
                "general_odp_caps",
                a.onDemandPagingCapabilities() == 0
                        ? "not supported"
                        : "0x%x".formatted(a.onDemandPagingCapabilities()));
        device(
                "completion_timestamp_mask",
                a.completionTimestampMask() == 0 ? "not supported" : "0x%016x".formatted(a.completionTimestampMask()));
        device("hca_core_clock", a.coreClockKilohertz() == 0 ? "not supported" : a.coreClockKilohertz() + " kHz");
        device("device_cap_flags_ex", "0x%x".formatted(a.extendedCapabilityFlags()));
    }

    /** The names of the bits that are set, and the rest as a number. */
    static List<String> capabilities(int flags) {
        List<String> names = new ArrayList<>();
        int unknown = flags;
        for (int bit = 0; bit < CAPABILITIES.length; bit++) {
            if ((flags & 1 << bit) != 0 && !CAPABILITIES[bit].isEmpty()) {
                names.add(CAPABILITIES[bit]);
                unknown &= ~(1 << bit);
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
        port("max_mtu", p.maxMtu().bytes() + code(p.maxMtu().code()));
        port("active_mtu", p.activeMtu().bytes() + code(p.activeMtu().code()));
        port("sm_lid", p.subnetManagerLid());
        port("port_lid", p.lid());
        port("port_lmc", "0x%02x".formatted(p.lidMaskControl()));
        port("link_layer", linkLayer(p.linkLayer()));
        if (!verbose) {
            return;
        }
        port("max_msg_sz", "0x%x (%s)".formatted(p.maxMessageSize(), ByteSize.format(p.maxMessageSize())));
        port("port_cap_flags", "0x%08x".formatted(p.capabilityFlags()));
        port("port_cap_flags2", "0x%04x".formatted(p.capabilityMask2()));
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
        if (device.transportType() == TransportType.IB) {
            port("phys_state", physicalState(p.physicalState()) + code(p.physicalState()));
        }
        for (GidEntry entry : context.gidTable()) {
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
        String netDevice = netDevice(entry.netDeviceIndex());
        return GidText.of(entry.gid()) + ", " + type + (netDevice.isEmpty() ? "" : ", " + netDevice);
    }

    private static String netDevice(int index) {
        try {
            NetworkInterface found = index == 0 ? null : NetworkInterface.getByIndex(index);
            return found == null ? "" : found.getName();
        } catch (SocketException unknown) {
            return "";
        }
    }

    private void device(String name, Object value) {
        out.printf("    %-32s%s%n", name.isEmpty() ? "" : name + ":", value);
    }

    private void port(String name, Object value) {
        out.printf("        %-28s%s%n", name + ":", value);
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
