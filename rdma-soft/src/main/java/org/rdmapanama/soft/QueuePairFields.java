package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.LocalAddresses;

/**
 * Checks and copies the attributes that ibv_modify_qp(3) sets, each selected by its bit in the mask. {@link
 * SoftQueuePair} calls it with the lock of the device held; it has no state.
 */
final class QueuePairFields {
    private static final int MOST_RETRIES = 7;
    private static final int MOST_TIMER = 31;
    private static final int PSN_MASK = 0xff_ffff;

    private QueuePairFields() {}

    /** Copies the attributes that the mask selects; they must have been checked. */
    static void copy(MemorySegment from, MemorySegment to, int mask) {
        if ((mask & rdma_h.IBV_QP_ACCESS_FLAGS()) != 0) {
            ibv_qp_attr.qp_access_flags(to, ibv_qp_attr.qp_access_flags(from));
        }
        if ((mask & rdma_h.IBV_QP_PKEY_INDEX()) != 0) {
            ibv_qp_attr.pkey_index(to, ibv_qp_attr.pkey_index(from));
        }
        if ((mask & rdma_h.IBV_QP_PORT()) != 0) {
            ibv_qp_attr.port_num(to, ibv_qp_attr.port_num(from));
        }
        if ((mask & rdma_h.IBV_QP_QKEY()) != 0) {
            ibv_qp_attr.qkey(to, ibv_qp_attr.qkey(from));
        }
        if ((mask & rdma_h.IBV_QP_AV()) != 0) {
            ibv_qp_attr.ah_attr(to, ibv_qp_attr.ah_attr(from));
        }
        if ((mask & rdma_h.IBV_QP_PATH_MTU()) != 0) {
            ibv_qp_attr.path_mtu(to, ibv_qp_attr.path_mtu(from));
        }
        if ((mask & rdma_h.IBV_QP_TIMEOUT()) != 0) {
            ibv_qp_attr.timeout(to, ibv_qp_attr.timeout(from));
        }
        if ((mask & rdma_h.IBV_QP_RETRY_CNT()) != 0) {
            ibv_qp_attr.retry_cnt(to, ibv_qp_attr.retry_cnt(from));
        }
        if ((mask & rdma_h.IBV_QP_RNR_RETRY()) != 0) {
            ibv_qp_attr.rnr_retry(to, ibv_qp_attr.rnr_retry(from));
        }
        if ((mask & rdma_h.IBV_QP_RQ_PSN()) != 0) {
            ibv_qp_attr.rq_psn(to, ibv_qp_attr.rq_psn(from) & PSN_MASK);
        }
        if ((mask & rdma_h.IBV_QP_SQ_PSN()) != 0) {
            ibv_qp_attr.sq_psn(to, ibv_qp_attr.sq_psn(from) & PSN_MASK);
        }
        if ((mask & rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()) != 0) {
            ibv_qp_attr.max_rd_atomic(to, ibv_qp_attr.max_rd_atomic(from));
        }
        if ((mask & rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()) != 0) {
            ibv_qp_attr.max_dest_rd_atomic(to, ibv_qp_attr.max_dest_rd_atomic(from));
        }
        if ((mask & rdma_h.IBV_QP_MIN_RNR_TIMER()) != 0) {
            ibv_qp_attr.min_rnr_timer(to, ibv_qp_attr.min_rnr_timer(from));
        }
        if ((mask & rdma_h.IBV_QP_DEST_QPN()) != 0) {
            ibv_qp_attr.dest_qp_num(to, ibv_qp_attr.dest_qp_num(from));
        }
    }

    /** Checks the attributes that the mask selects. Returns 0 or an errno. */
    static int check(MemorySegment from, int mask, SoftDevice device) {
        boolean valid = (mask & rdma_h.IBV_QP_ALT_PATH()) == 0
                && ((mask & rdma_h.IBV_QP_PKEY_INDEX()) == 0 || ibv_qp_attr.pkey_index(from) == 0)
                && ((mask & rdma_h.IBV_QP_PORT()) == 0 || ibv_qp_attr.port_num(from) == 1)
                && ((mask & rdma_h.IBV_QP_RETRY_CNT()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(from)) <= MOST_RETRIES)
                && ((mask & rdma_h.IBV_QP_RNR_RETRY()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.rnr_retry(from)) <= MOST_RETRIES)
                && ((mask & rdma_h.IBV_QP_MIN_RNR_TIMER()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.min_rnr_timer(from)) <= MOST_TIMER)
                && ((mask & rdma_h.IBV_QP_TIMEOUT()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.timeout(from)) <= MOST_TIMER)
                && ((mask & rdma_h.IBV_QP_MAX_QP_RD_ATOMIC()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(from)) <= SoftDevice.MAX_READ_ATOMIC)
                && ((mask & rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()) == 0
                        || Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(from)) <= SoftDevice.MAX_READ_ATOMIC)
                && ((mask & rdma_h.IBV_QP_PATH_MTU()) == 0
                        || (ibv_qp_attr.path_mtu(from) >= rdma_h.IBV_MTU_256()
                                && ibv_qp_attr.path_mtu(from) <= device.mtu()));
        if (!valid) {
            return Errno.EINVAL;
        }
        return (mask & rdma_h.IBV_QP_AV()) == 0 ? 0 : checkAddress(ibv_qp_attr.ah_attr(from), device, false);
    }

    /**
     * Checks an address vector: RoCE has only global addresses, and the source index must select a GID of this device,
     * of the same IP version as the destination unless that is a multicast group, and of an address from which packets
     * get there. Returns 0 or an errno.
     */
    static int checkAddress(MemorySegment address, SoftDevice device, boolean mayBeGroup) {
        MemorySegment route = ibv_ah_attr.grh(address);
        int index = Byte.toUnsignedInt(ibv_global_route.sgid_index(route));
        LocalAddresses own = device.addresses();
        boolean possible = ibv_ah_attr.is_global(address) != 0 && ibv_ah_attr.port_num(address) == 1;
        if (!possible || index >= own.count()) {
            return Errno.EINVAL;
        }
        long gid = ibv_global_route.dgid(route).address();
        long high = Memory.getNetLong(gid);
        long low = Memory.getNetLong(gid + Long.BYTES);
        boolean sameVersion = Gids.isVersion4(high, low) == Gids.isVersion4(own.high(index), own.low(index));
        boolean valid = Gids.isGroup(high, low) ? mayBeGroup : sameVersion;
        if (!valid) {
            return Errno.EINVAL;
        }
        return own.leadsTo(index, Gids.socketOf(high, low).getAddress()) ? 0 : Errno.ENETUNREACH;
    }
}
