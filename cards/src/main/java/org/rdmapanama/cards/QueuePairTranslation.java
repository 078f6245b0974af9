package org.rdmapanama.cards;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.soft.memory.Memory;

/** Attributes of queue pairs and addresses, between the structures of the kernel's interface and those of verbs.h. */
final class QueuePairTranslation {
    private static final int GID_BYTES = 16;

    private QueuePairTranslation() {}

    /** Reads a MODIFY_QP into a struct ibv_qp_attr. */
    static void read(View in, MemorySegment to) {
        to.fill((byte) 0);
        ibv_qp_attr.qp_state(to, in.getInt("qp_state"));
        ibv_qp_attr.cur_qp_state(to, in.getInt("cur_qp_state"));
        ibv_qp_attr.path_mtu(to, in.getInt("path_mtu"));
        ibv_qp_attr.path_mig_state(to, in.getInt("path_mig_state"));
        ibv_qp_attr.qkey(to, in.getInt("qkey"));
        ibv_qp_attr.rq_psn(to, in.getInt("rq_psn"));
        ibv_qp_attr.sq_psn(to, in.getInt("sq_psn"));
        ibv_qp_attr.dest_qp_num(to, in.getInt("dest_qp_num"));
        ibv_qp_attr.qp_access_flags(to, in.getInt("qp_access_flags"));
        ibv_qp_attr.pkey_index(to, (short) in.get("pkey_index"));
        ibv_qp_attr.en_sqd_async_notify(to, (byte) in.get("en_sqd_async_notify"));
        ibv_qp_attr.max_rd_atomic(to, (byte) in.get("max_rd_atomic"));
        ibv_qp_attr.max_dest_rd_atomic(to, (byte) in.get("max_dest_rd_atomic"));
        ibv_qp_attr.min_rnr_timer(to, (byte) in.get("min_rnr_timer"));
        ibv_qp_attr.port_num(to, (byte) in.get("port_num"));
        ibv_qp_attr.timeout(to, (byte) in.get("timeout"));
        ibv_qp_attr.retry_cnt(to, (byte) in.get("retry_cnt"));
        ibv_qp_attr.rnr_retry(to, (byte) in.get("rnr_retry"));
        ibv_qp_attr.alt_port_num(to, (byte) in.get("alt_port_num"));
        ibv_qp_attr.alt_timeout(to, (byte) in.get("alt_timeout"));
        ibv_qp_attr.alt_pkey_index(to, (short) in.get("alt_pkey_index"));
        readAddress(Uverbs.QP_DEST.at(in.addressOf("dest")), ibv_qp_attr.ah_attr(to));
        readAddress(Uverbs.QP_DEST.at(in.addressOf("alt_dest")), ibv_qp_attr.alt_ah_attr(to));
    }

    /** Reads an address, whose fields have the names of a struct ib_uverbs_qp_dest, into a struct ibv_ah_attr. */
    static void readAddress(View in, MemorySegment to) {
        MemorySegment route = ibv_ah_attr.grh(to);
        Memory.copy(in.addressOf("dgid"), ibv_global_route.dgid(route).address(), GID_BYTES);
        ibv_global_route.flow_label(route, in.getInt("flow_label"));
        ibv_global_route.sgid_index(route, (byte) in.get("sgid_index"));
        ibv_global_route.hop_limit(route, (byte) in.get("hop_limit"));
        ibv_global_route.traffic_class(route, (byte) in.get("traffic_class"));
        ibv_ah_attr.dlid(to, (short) in.get("dlid"));
        ibv_ah_attr.sl(to, (byte) in.get("sl"));
        ibv_ah_attr.src_path_bits(to, (byte) in.get("src_path_bits"));
        ibv_ah_attr.static_rate(to, (byte) in.get("static_rate"));
        ibv_ah_attr.is_global(to, (byte) in.get("is_global"));
        ibv_ah_attr.port_num(to, (byte) in.get("port_num"));
    }

    private static void writeAddress(MemorySegment from, View out) {
        MemorySegment route = ibv_ah_attr.grh(from);
        Memory.copy(ibv_global_route.dgid(route).address(), out.addressOf("dgid"), GID_BYTES);
        out.set("flow_label", ibv_global_route.flow_label(route))
                .set("sgid_index", ibv_global_route.sgid_index(route))
                .set("hop_limit", ibv_global_route.hop_limit(route))
                .set("traffic_class", ibv_global_route.traffic_class(route))
                .set("dlid", ibv_ah_attr.dlid(from))
                .set("sl", ibv_ah_attr.sl(from))
                .set("src_path_bits", ibv_ah_attr.src_path_bits(from))
                .set("static_rate", ibv_ah_attr.static_rate(from))
                .set("is_global", ibv_ah_attr.is_global(from))
                .set("port_num", ibv_ah_attr.port_num(from));
    }

    /** Writes the answer to QUERY_QP. */
    static void write(MemorySegment from, MemorySegment init, View out) {
        writeAddress(ibv_qp_attr.ah_attr(from), Uverbs.QP_DEST.at(out.addressOf("dest")));
        writeAddress(ibv_qp_attr.alt_ah_attr(from), Uverbs.QP_DEST.at(out.addressOf("alt_dest")));
        MemorySegment cap = ibv_qp_attr.cap(from);
        out.set("max_send_wr", ibv_qp_cap.max_send_wr(cap))
                .set("max_recv_wr", ibv_qp_cap.max_recv_wr(cap))
                .set("max_send_sge", ibv_qp_cap.max_send_sge(cap))
                .set("max_recv_sge", ibv_qp_cap.max_recv_sge(cap))
                .set("max_inline_data", ibv_qp_cap.max_inline_data(cap))
                .set("qkey", ibv_qp_attr.qkey(from))
                .set("rq_psn", ibv_qp_attr.rq_psn(from))
                .set("sq_psn", ibv_qp_attr.sq_psn(from))
                .set("dest_qp_num", ibv_qp_attr.dest_qp_num(from))
                .set("qp_access_flags", ibv_qp_attr.qp_access_flags(from))
                .set("pkey_index", ibv_qp_attr.pkey_index(from))
                .set("alt_pkey_index", ibv_qp_attr.alt_pkey_index(from))
                .set("qp_state", ibv_qp_attr.qp_state(from))
                .set("cur_qp_state", ibv_qp_attr.cur_qp_state(from))
                .set("path_mtu", ibv_qp_attr.path_mtu(from))
                .set("path_mig_state", ibv_qp_attr.path_mig_state(from))
                .set("sq_draining", ibv_qp_attr.sq_draining(from))
                .set("max_rd_atomic", ibv_qp_attr.max_rd_atomic(from))
                .set("max_dest_rd_atomic", ibv_qp_attr.max_dest_rd_atomic(from))
                .set("min_rnr_timer", ibv_qp_attr.min_rnr_timer(from))
                .set("port_num", ibv_qp_attr.port_num(from))
                .set("timeout", ibv_qp_attr.timeout(from))
                .set("retry_cnt", ibv_qp_attr.retry_cnt(from))
                .set("rnr_retry", ibv_qp_attr.rnr_retry(from))
                .set("alt_port_num", ibv_qp_attr.alt_port_num(from))
                .set("alt_timeout", ibv_qp_attr.alt_timeout(from))
                .set("sq_sig_all", ibv_qp_init_attr.sq_sig_all(init));
    }
}
