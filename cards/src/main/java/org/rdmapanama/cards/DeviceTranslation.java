package org.rdmapanama.cards;

import static org.rdmapanama.cards.CommandException.check;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_port_attr;
import org.rdmapanama.internal.provider.ProviderContext;

/** Answers queries of a device and its port by what soft0 says. */
final class DeviceTranslation {
    private static final long FIRMWARE = (14L << 32) | (32L << 16) | 1010;

    private DeviceTranslation() {}

    /** Writes the answer to QUERY_DEVICE. */
    static void device(ProviderContext soft, long out) throws CommandException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment all = arena.allocate(ibv_device_attr_ex.layout());
            check(soft.queryDevice(all.address()));
            MemorySegment from = ibv_device_attr_ex.orig_attr(all);
            View to = Uverbs.QUERY_DEVICE_OUT.at(out);
            to.set("fw_ver", FIRMWARE)
                    .set("node_guid", ibv_device_attr.node_guid(from))
                    .set("sys_image_guid", ibv_device_attr.sys_image_guid(from))
                    .set("max_mr_size", ibv_device_attr.max_mr_size(from))
                    .set("page_size_cap", ibv_device_attr.page_size_cap(from))
                    .set("vendor_id", SysfsTree.VENDOR_ID)
                    .set("vendor_part_id", SysfsTree.PART_ID)
                    .set("hw_ver", 0)
                    .set("max_qp", ibv_device_attr.max_qp(from))
                    .set("max_qp_wr", ibv_device_attr.max_qp_wr(from))
                    .set("device_cap_flags", ibv_device_attr.device_cap_flags(from))
                    .set("max_sge", ibv_device_attr.max_sge(from))
                    .set("max_sge_rd", ibv_device_attr.max_sge_rd(from))
                    .set("max_cq", ibv_device_attr.max_cq(from))
                    .set("max_cqe", ibv_device_attr.max_cqe(from))
                    .set("max_mr", ibv_device_attr.max_mr(from))
                    .set("max_pd", ibv_device_attr.max_pd(from))
                    .set("max_qp_rd_atom", ibv_device_attr.max_qp_rd_atom(from))
                    .set("max_res_rd_atom", ibv_device_attr.max_res_rd_atom(from))
                    .set("max_qp_init_rd_atom", ibv_device_attr.max_qp_init_rd_atom(from))
                    .set("atomic_cap", ibv_device_attr.atomic_cap(from))
                    .set("max_mw", ibv_device_attr.max_mw(from))
                    .set("max_mcast_grp", ibv_device_attr.max_mcast_grp(from))
                    .set("max_mcast_qp_attach", ibv_device_attr.max_mcast_qp_attach(from))
                    .set("max_total_mcast_qp_attach", ibv_device_attr.max_total_mcast_qp_attach(from))
                    .set("max_ah", ibv_device_attr.max_ah(from))
                    .set("max_srq", ibv_device_attr.max_srq(from))
                    // libmlx5 has an entry more than was asked for.
                    .set("max_srq_wr", ibv_device_attr.max_srq_wr(from) - 1)
                    .set("max_srq_sge", ibv_device_attr.max_srq_sge(from))
                    .set("max_pkeys", ibv_device_attr.max_pkeys(from))
                    .set("local_ca_ack_delay", ibv_device_attr.local_ca_ack_delay(from))
                    .set("phys_port_cnt", 1);
        }
    }

    /** Writes the answer to QUERY_PORT. */
    static void port(ProviderContext soft, int port, long out) throws CommandException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment from = arena.allocate(ibv_port_attr.layout());
            check(soft.queryPort(port, from.address()));
            Uverbs.QUERY_PORT_OUT
                    .at(out)
                    .set("port_cap_flags", ibv_port_attr.port_cap_flags(from))
                    .set("max_msg_sz", ibv_port_attr.max_msg_sz(from))
                    .set("gid_tbl_len", SysfsTree.GID_TABLE)
                    .set("pkey_tbl_len", ibv_port_attr.pkey_tbl_len(from))
                    .set("lid", ibv_port_attr.lid(from))
                    .set("sm_lid", ibv_port_attr.sm_lid(from))
                    .set("state", ibv_port_attr.state(from))
                    .set("max_mtu", ibv_port_attr.max_mtu(from))
                    .set("active_mtu", ibv_port_attr.active_mtu(from))
                    .set("lmc", ibv_port_attr.lmc(from))
                    .set("max_vl_num", ibv_port_attr.max_vl_num(from))
                    .set("active_width", ibv_port_attr.active_width(from))
                    .set("active_speed", ibv_port_attr.active_speed(from))
                    .set("phys_state", ibv_port_attr.phys_state(from))
                    .set("link_layer", ibv_port_attr.link_layer(from))
                    .set("flags", ibv_port_attr.flags(from));
        }
    }
}
