package org.rdmapanama.cards;

import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;

/**
 * The commands that libibverbs writes into a device file, and their structures: {@code rdma/ib_user_verbs.h}. The names are
 * those of the header. A structure for a response is named after its command.
 */
final class Uverbs {
    static final int GET_CONTEXT = 0;
    static final int QUERY_DEVICE = 1;
    static final int QUERY_PORT = 2;
    static final int ALLOC_PD = 3;
    static final int DEALLOC_PD = 4;
    static final int CREATE_AH = 5;
    static final int DESTROY_AH = 8;
    static final int REG_MR = 9;
    static final int REREG_MR = 11;
    static final int DEREG_MR = 13;
    static final int ALLOC_MW = 14;
    static final int DEALLOC_MW = 16;
    static final int CREATE_COMP_CHANNEL = 17;
    static final int CREATE_CQ = 18;
    static final int RESIZE_CQ = 19;
    static final int DESTROY_CQ = 20;
    static final int CREATE_QP = 24;
    static final int QUERY_QP = 25;
    static final int MODIFY_QP = 26;
    static final int DESTROY_QP = 27;
    static final int ATTACH_MCAST = 30;
    static final int DETACH_MCAST = 31;
    static final int CREATE_SRQ = 32;
    static final int MODIFY_SRQ = 33;
    static final int QUERY_SRQ = 34;
    static final int DESTROY_SRQ = 35;
    static final int CREATE_XSRQ = 39;

    /** The flag of a command that has the extended header. */
    static final int EXTENDED = 0x80000000;

    /** RDMA_VERBS_IOCTL of {@code rdma/rdma_user_ioctl_cmds.h}: the only request of ioctl(2). */
    static final long CONTROL = 0xc0181b01L;

    /** {@code struct ib_uverbs_ioctl_hdr}, behind which the attributes are. */
    private static final Layout CONTROL_HEADER =
            Layout.of("length:2 object_id:2 method_id:2 num_attrs:2 reserved1:8 driver_id:4 reserved2:4");

    /** {@code struct ib_uverbs_attr}. */
    private static final Layout ATTRIBUTE = Layout.of("attr_id:2 len:2 flags:2 attr_data:2 data:8");

    /** A command that comes by ioctl(2). */
    record Control(int object, int method, List<View> attributes) {
        static Control at(long address) {
            View header = CONTROL_HEADER.at(address);
            List<View> attributes = new ArrayList<>();
            long at = header.end();
            for (int i = 0; i < header.getInt("num_attrs"); i++) {
                View attribute = ATTRIBUTE.at(at);
                attributes.add(attribute);
                at = attribute.end();
            }
            return new Control(header.getInt("object_id"), header.getInt("method_id"), attributes);
        }

        /** Returns an attribute, whose {@code data} is a number that the program gives or gets, or where to write one. */
        View attribute(int id) throws CommandException {
            for (View each : attributes) {
                if (each.getInt("attr_id") == id) {
                    return each;
                }
            }
            throw new CommandException(Errno.EINVAL);
        }
    }

    static final Layout HEADER = Layout.of("command:4 in_words:2 out_words:2");
    static final Layout EXTENDED_HEADER =
            Layout.of("response:8 provider_in_words:2 provider_out_words:2 cmd_hdr_reserved:4");

    static final Layout GET_CONTEXT_IN = Layout.of("response:8");
    static final Layout GET_CONTEXT_OUT = Layout.of("async_fd:4 num_comp_vectors:4");

    static final Layout QUERY_DEVICE_IN = Layout.of("response:8");
    static final Layout QUERY_DEVICE_OUT = Layout.of("""
            fw_ver:8 node_guid:8 sys_image_guid:8 max_mr_size:8 page_size_cap:8 vendor_id:4 vendor_part_id:4 hw_ver:4
            max_qp:4 max_qp_wr:4 device_cap_flags:4 max_sge:4 max_sge_rd:4 max_cq:4 max_cqe:4 max_mr:4 max_pd:4
            max_qp_rd_atom:4 max_ee_rd_atom:4 max_res_rd_atom:4 max_qp_init_rd_atom:4 max_ee_init_rd_atom:4 atomic_cap:4
            max_ee:4 max_rdd:4 max_mw:4 max_raw_ipv6_qp:4 max_raw_ethy_qp:4 max_mcast_grp:4 max_mcast_qp_attach:4
            max_total_mcast_qp_attach:4 max_ah:4 max_fmr:4 max_map_per_fmr:4 max_srq:4 max_srq_wr:4 max_srq_sge:4
            max_pkeys:2 local_ca_ack_delay:1 phys_port_cnt:1 reserved:4""");
    /** Of {@code struct ib_uverbs_ex_query_device_resp}, what follows the base. */
    static final Layout EX_QUERY_DEVICE_OUT = Layout.of("""
            base:176 comp_mask:4 response_length:4 general_odp_caps:8 rc_odp_caps:4 uc_odp_caps:4 ud_odp_caps:4
            odp_reserved:4 timestamp_mask:8 hca_core_clock:8 device_cap_flags_ex:8 rss_supported_qpts:4
            max_rwq_indirection_tables:4 max_rwq_indirection_table_size:4 rss_reserved:4 max_wq_type_rq:4
            raw_packet_caps:4 max_rndv_hdr_size:4 max_num_tags:4 tm_flags:4 max_ops:4 tm_max_sge:4 tm_reserved:4
            max_cq_moderation_count:2 max_cq_moderation_period:2 cq_moderation_reserved:4 max_dm_size:8 xrc_odp_caps:4
            reserved:4""");

    static final Layout QUERY_PORT_IN = Layout.of("response:8 port_num:1 reserved:7");
    static final Layout QUERY_PORT_OUT = Layout.of("""
            port_cap_flags:4 max_msg_sz:4 bad_pkey_cntr:4 qkey_viol_cntr:4 gid_tbl_len:4 pkey_tbl_len:2 lid:2 sm_lid:2
            state:1 max_mtu:1 active_mtu:1 lmc:1 max_vl_num:1 sm_sl:1 subnet_timeout:1 init_type_reply:1 active_width:1
            active_speed:1 phys_state:1 link_layer:1 flags:1 reserved:1""");

    static final Layout ALLOC_PD_IN = Layout.of("response:8");
    static final Layout ALLOC_PD_OUT = Layout.of("pd_handle:4");
    static final Layout DEALLOC_PD_IN = Layout.of("pd_handle:4");

    static final Layout REG_MR_IN = Layout.of("response:8 start:8 length:8 hca_va:8 pd_handle:4 access_flags:4");
    static final Layout REG_MR_OUT = Layout.of("mr_handle:4 lkey:4 rkey:4");
    static final Layout DEREG_MR_IN = Layout.of("mr_handle:4");

    static final Layout ALLOC_MW_IN = Layout.of("response:8 pd_handle:4 mw_type:1 reserved:3");
    static final Layout ALLOC_MW_OUT = Layout.of("mw_handle:4 rkey:4");
    static final Layout DEALLOC_MW_IN = Layout.of("mw_handle:4");

    static final Layout CREATE_COMP_CHANNEL_IN = Layout.of("response:8");
    static final Layout CREATE_COMP_CHANNEL_OUT = Layout.of("fd:4");

    static final Layout CREATE_CQ_IN =
            Layout.of("response:8 user_handle:8 cqe:4 comp_vector:4 comp_channel:4 reserved:4");
    static final Layout EX_CREATE_CQ_IN =
            Layout.of("user_handle:8 cqe:4 comp_vector:4 comp_channel:4 comp_mask:4 flags:4 reserved:4");
    static final Layout CREATE_CQ_OUT = Layout.of("cq_handle:4 cqe:4");
    static final Layout RESIZE_CQ_IN = Layout.of("response:8 cq_handle:4 cqe:4");
    static final Layout RESIZE_CQ_OUT = Layout.of("cqe:4 reserved:4");
    static final Layout DESTROY_CQ_IN = Layout.of("response:8 cq_handle:4 reserved:4");
    static final Layout DESTROY_CQ_OUT = Layout.of("comp_events_reported:4 async_events_reported:4");

    private static final String QP_SIZES = """
            max_send_wr:4 max_recv_wr:4 max_send_sge:4 max_recv_sge:4 max_inline_data:4
            """;
    private static final String CREATE_QP_CORE =
            "user_handle:8 pd_handle:4 send_cq_handle:4 recv_cq_handle:4 srq_handle:4 " + QP_SIZES
                    + " sq_sig_all:1 qp_type:1 is_srq:1 reserved:1";
    static final Layout CREATE_QP_IN = Layout.of("response:8 " + CREATE_QP_CORE);
    static final Layout EX_CREATE_QP_IN =
            Layout.of(CREATE_QP_CORE + " comp_mask:4 create_flags:4 rwq_ind_tbl_handle:4 source_qpn:4");
    static final Layout CREATE_QP_OUT = Layout.of("qp_handle:4 qpn:4 " + QP_SIZES + " reserved:4");

    private static final String GID_WORDS = "dgid:16";
    private static final String DESTINATION = GID_WORDS
            + " flow_label:4 dlid:2 reserved:2 sgid_index:1 hop_limit:1 traffic_class:1 sl:1 src_path_bits:1 static_rate:1"
            + " is_global:1 port_num:1";
    /** {@code struct ib_uverbs_qp_dest}. */
    static final Layout QP_DEST = Layout.of(DESTINATION);

    static final Layout QUERY_QP_IN = Layout.of("response:8 qp_handle:4 attr_mask:4");
    static final Layout QUERY_QP_OUT = Layout.of("dest:32 alt_dest:32 " + QP_SIZES + """
             qkey:4 rq_psn:4 sq_psn:4 dest_qp_num:4 qp_access_flags:4 pkey_index:2 alt_pkey_index:2 qp_state:1
             cur_qp_state:1 path_mtu:1 path_mig_state:1 sq_draining:1 max_rd_atomic:1 max_dest_rd_atomic:1
             min_rnr_timer:1 port_num:1 timeout:1 retry_cnt:1 rnr_retry:1 alt_port_num:1 alt_timeout:1 sq_sig_all:1
             reserved:5""");
    static final Layout MODIFY_QP_IN = Layout.of("""
            dest:32 alt_dest:32 qp_handle:4 attr_mask:4 qkey:4 rq_psn:4 sq_psn:4 dest_qp_num:4 qp_access_flags:4
            pkey_index:2 alt_pkey_index:2 qp_state:1 cur_qp_state:1 path_mtu:1 path_mig_state:1 en_sqd_async_notify:1
            max_rd_atomic:1 max_dest_rd_atomic:1 min_rnr_timer:1 port_num:1 timeout:1 retry_cnt:1 rnr_retry:1
            alt_port_num:1 alt_timeout:1 reserved:2""");
    static final Layout DESTROY_QP_IN = Layout.of("response:8 qp_handle:4 reserved:4");
    static final Layout DESTROY_QP_OUT = Layout.of("events_reported:4");

    static final Layout MCAST_IN = Layout.of("gid:16 qp_handle:4 mlid:2 reserved:2");

    static final Layout CREATE_SRQ_IN =
            Layout.of("response:8 user_handle:8 pd_handle:4 max_wr:4 max_sge:4 srq_limit:4");
    static final Layout CREATE_SRQ_OUT = Layout.of("srq_handle:4 max_wr:4 max_sge:4 srqn:4");
    static final Layout MODIFY_SRQ_IN = Layout.of("srq_handle:4 attr_mask:4 max_wr:4 srq_limit:4");
    static final Layout QUERY_SRQ_IN = Layout.of("response:8 srq_handle:4 reserved:4");
    static final Layout QUERY_SRQ_OUT = Layout.of("max_wr:4 max_sge:4 srq_limit:4 reserved:4");
    static final Layout DESTROY_SRQ_IN = Layout.of("response:8 srq_handle:4 reserved:4");
    static final Layout DESTROY_SRQ_OUT = Layout.of("events_reported:4");

    static final Layout CREATE_AH_IN = Layout.of("response:8 user_handle:8 pd_handle:4 reserved:4 dgid:16 flow_label:4 "
            + "sgid_index:1 hop_limit:1 traffic_class:1 grh_reserved:1 dlid:2 sl:1 src_path_bits:1 static_rate:1 "
            + "is_global:1 port_num:1 attr_reserved:1");
    static final Layout CREATE_AH_OUT = Layout.of("ah_handle:4");
    static final Layout DESTROY_AH_IN = Layout.of("ah_handle:4");

    /** What is read from the descriptors of events. */
    static final Layout ASYNC_EVENT = Layout.of("element:8 event_type:4 reserved:4");

    static final Layout COMP_EVENT = Layout.of("cq_handle:8");

    private Uverbs() {}
}
