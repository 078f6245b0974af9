package org.rdmapanama.soft;

import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.soft.memory.Memory;

/**
 * The verbs of extended completion queues (ibv_start_poll and others), which read completions one by one. A completion
 * is taken out of the queue when it becomes the current one, and stays readable until the next. Between startPoll and
 * endPoll, the polling thread must be the only one that uses the queue.
 */
final class SoftCompletionVerbs extends CompletionVerbs {
    /** The supported fields, of enum ibv_create_cq_wc_flags. */
    static final int FIELDS = rdma_h.IBV_WC_EX_WITH_BYTE_LEN()
            | rdma_h.IBV_WC_EX_WITH_IMM()
            | rdma_h.IBV_WC_EX_WITH_QP_NUM()
            | rdma_h.IBV_WC_EX_WITH_SRC_QP()
            | rdma_h.IBV_WC_EX_WITH_SLID()
            | rdma_h.IBV_WC_EX_WITH_SL()
            | rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS();

    private static final long HANDLE = ibv_cq.handle$offset();
    private static final long STATUS = ibv_cq_ex.status$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_ID = ibv_cq_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;

    private static final long WC_ID = ibv_wc.wr_id$offset();
    private static final long WC_STATUS = ibv_wc.status$offset();
    private static final long WC_OPCODE = ibv_wc.opcode$offset();
    private static final long WC_VENDOR_ERR = ibv_wc.vendor_err$offset();
    private static final long WC_BYTE_LEN = ibv_wc.byte_len$offset();
    private static final long WC_IMM_DATA = ibv_wc.imm_data$offset();
    private static final long WC_QP_NUM = ibv_wc.qp_num$offset();
    private static final long WC_SRC_QP = ibv_wc.src_qp$offset();
    private static final long WC_FLAGS = ibv_wc.wc_flags$offset();

    private final SoftDevice device;

    SoftCompletionVerbs(SoftDevice device) {
        this.device = device;
    }

    private SoftCompletionQueue queue(long address) {
        return device.completionQueues.get(Memory.getInt(address + HANDLE));
    }

    private long current(long address) {
        return queue(address).current();
    }

    @Override
    public int startPoll(long completionQueue, long attributes) {
        return next(completionQueue);
    }

    @Override
    public int nextPoll(long completionQueue) {
        return next(completionQueue);
    }

    private int next(long completionQueue) {
        SoftCompletionQueue queue = queue(completionQueue);
        if (queue.isEmpty()) {
            device.engine.progress();
        }
        if (queue.isEmpty() || queue.poll(1, queue.current()) == 0) {
            return -Errno.ENOENT;
        }
        long wc = queue.current();
        Memory.putInt(completionQueue + STATUS, Memory.getInt(wc + WC_STATUS));
        Memory.putLong(completionQueue + WR_ID, Memory.getLong(wc + WC_ID));
        return 0;
    }

    @Override
    public void endPoll(long completionQueue) {
        // The current completion has already been taken out.
    }

    @Override
    public int readable(long completionQueue) {
        return queue(completionQueue).fields;
    }

    @Override
    public int readOpcode(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_OPCODE);
    }

    @Override
    public int readVendorErr(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_VENDOR_ERR);
    }

    @Override
    public int readByteLen(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_BYTE_LEN);
    }

    @Override
    public int readImmData(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_IMM_DATA);
    }

    @Override
    public int readQpNum(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_QP_NUM);
    }

    @Override
    public int readSrcQp(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_SRC_QP);
    }

    @Override
    public int readWcFlags(long completionQueue) {
        return Memory.getInt(current(completionQueue) + WC_FLAGS);
    }

    @Override
    public int readSlid(long completionQueue) {
        return 0;
    }

    @Override
    public byte readSl(long completionQueue) {
        return 0;
    }

    @Override
    public byte readDlidPathBits(long completionQueue) {
        return 0;
    }

    @Override
    public long readCompletionTs(long completionQueue) {
        throw notReadable("completion_ts");
    }

    @Override
    public long readCompletionWallclockNs(long completionQueue) {
        throw notReadable("completion_wallclock_ns");
    }

    @Override
    public short readCvlan(long completionQueue) {
        throw notReadable("cvlan");
    }

    @Override
    public int readFlowTag(long completionQueue) {
        throw notReadable("flow_tag");
    }

    @Override
    public void readTmInfo(long completionQueue, long info) {
        throw notReadable("tm_info");
    }

    private static UnsupportedOperationException notReadable(String field) {
        return new UnsupportedOperationException(field + " cannot be read: use a field that readable() lists");
    }
}
