package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * Fills in the answers to queries of the device: ibv_device_attr_ex, ibv_port_attr and ibv_gid_entry. {@link
 * SoftContext} calls it on any thread, without a lock: the values do not change while the device is open.
 */
final class DeviceTables {
    static final int PKEY = 0xffff;
    static final int GID_TABLE = 256;
    static final int MAX_WORK = 1 << 14;
    static final int MAX_COMPLETIONS = (1 << 16) - 1;
    static final int MAX_SEGMENTS = 32;
    static final int MAX_INLINE = 512;

    /** The vendor ID that Soft-RoCE reports. */
    private static final int NO_VENDOR = 0xff_ffff;

    static final int MANY = 1 << 14;
    static final int MANY_REGIONS = 1 << 20;
    private static final int GROUP_MEMBERS = 1 << 10;

    /** A value of enum ib_port_phys_state. */
    private static final int LINK_UP = 5;

    /** One lane at 2.5 Gb/s, the lowest speed, because a software device has none. */
    private static final byte ONE_LANE = 1;

    private static final byte SLOWEST = 1;

    private DeviceTables() {}

    static void device(long address, SoftDevice device) {
        Memory.zero(address, ibv_device_attr_ex.sizeof());
        MemorySegment all = Native.struct(address, ibv_device_attr_ex.layout());
        MemorySegment attr = ibv_device_attr_ex.orig_attr(all);
        ibv_device_attr.fw_ver(attr).setString(0, version());
        Memory.putNetLong(attr.address() + ibv_device_attr.node_guid$offset(), SoftDevice.GUID);
        Memory.putNetLong(attr.address() + ibv_device_attr.sys_image_guid$offset(), SoftDevice.GUID);
        ibv_device_attr.max_mr_size(attr, Long.MAX_VALUE);
        ibv_device_attr.page_size_cap(attr, -4096L);
        ibv_device_attr.vendor_id(attr, NO_VENDOR);
        ibv_device_attr.max_qp(attr, MANY);
        ibv_device_attr.max_qp_wr(attr, MAX_WORK);
        ibv_device_attr.device_cap_flags(
                attr,
                rdma_h.IBV_DEVICE_CURR_QP_STATE_MOD()
                        | rdma_h.IBV_DEVICE_RC_RNR_NAK_GEN()
                        | rdma_h.IBV_DEVICE_SRQ_RESIZE()
                        | rdma_h.IBV_DEVICE_MEM_WINDOW()
                        | rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B());
        ibv_device_attr.max_sge(attr, MAX_SEGMENTS);
        ibv_device_attr.max_sge_rd(attr, MAX_SEGMENTS);
        ibv_device_attr.max_cq(attr, MANY);
        ibv_device_attr.max_cqe(attr, MAX_COMPLETIONS);
        ibv_device_attr.max_mr(attr, MANY_REGIONS);
        ibv_device_attr.max_pd(attr, MANY);
        ibv_device_attr.max_qp_rd_atom(attr, SoftDevice.MAX_READ_ATOMIC);
        ibv_device_attr.max_res_rd_atom(attr, SoftDevice.MAX_READ_ATOMIC * MANY);
        ibv_device_attr.max_qp_init_rd_atom(attr, SoftDevice.MAX_READ_ATOMIC);
        ibv_device_attr.atomic_cap(attr, rdma_h.IBV_ATOMIC_GLOB());
        ibv_device_attr.max_mw(attr, MANY_REGIONS);
        ibv_device_attr.max_mcast_grp(attr, MANY);
        ibv_device_attr.max_mcast_qp_attach(attr, GROUP_MEMBERS);
        ibv_device_attr.max_total_mcast_qp_attach(attr, MANY);
        ibv_device_attr.max_ah(attr, MANY_REGIONS);
        ibv_device_attr.max_srq(attr, MANY);
        ibv_device_attr.max_srq_wr(attr, MAX_WORK);
        ibv_device_attr.max_srq_sge(attr, MAX_SEGMENTS);
        ibv_device_attr.max_pkeys(attr, (short) 1);
        ibv_device_attr.phys_port_cnt(attr, (byte) 1);
        ibv_device_attr_ex.device_cap_flags_ex(all, Integer.toUnsignedLong(ibv_device_attr.device_cap_flags(attr)));
        ibv_device_attr_ex.phys_port_cnt_ex(all, 1);
    }

    private static String version() {
        String version = DeviceTables.class.getPackage().getImplementationVersion();
        return version == null ? "" : version;
    }

    static void port(long address, SoftDevice device) {
        Memory.zero(address, ibv_port_attr.sizeof());
        MemorySegment attr = Native.struct(address, ibv_port_attr.layout());
        ibv_port_attr.state(attr, rdma_h.IBV_PORT_ACTIVE());
        ibv_port_attr.max_mtu(attr, device.mtu());
        ibv_port_attr.active_mtu(attr, device.activeMtu());
        ibv_port_attr.gid_tbl_len(attr, GID_TABLE);
        ibv_port_attr.max_msg_sz(attr, (int) SoftDevice.MAX_MESSAGE);
        ibv_port_attr.pkey_tbl_len(attr, (short) 1);
        ibv_port_attr.max_vl_num(attr, (byte) 1);
        ibv_port_attr.active_width(attr, ONE_LANE);
        ibv_port_attr.active_speed(attr, SLOWEST);
        ibv_port_attr.phys_state(attr, (byte) LINK_UP);
        ibv_port_attr.link_layer(attr, (byte) rdma_h.IBV_LINK_LAYER_ETHERNET());
    }

    static void gid(long address, int index, SoftDevice device) {
        MemorySegment entry = Native.struct(address, ibv_gid_entry.layout());
        device.addresses().writeGid(index, address + ibv_gid_entry.gid$offset());
        ibv_gid_entry.gid_index(entry, index);
        ibv_gid_entry.port_num(entry, 1);
        ibv_gid_entry.gid_type(entry, rdma_h.IBV_GID_TYPE_ROCE_V2());
        ibv_gid_entry.ndev_ifindex(entry, 0);
    }
}
