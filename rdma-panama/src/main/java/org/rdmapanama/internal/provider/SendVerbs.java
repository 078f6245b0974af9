package org.rdmapanama.internal.provider;

import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.queue.SendOperation;

/**
 * The work request builder of an extended queue pair: the functions of {@code struct ibv_qp_ex}. Each takes the address
 * of that structure. {@link #identify} precedes the call that begins a work request; see ibv_wr_post(3).
 *
 * <p>Between start and complete or abort, the driver may hold a lock: no other call may post to the queue pair then.
 */
public abstract class SendVerbs {
    private static final long WR_ID = ibv_qp_ex.wr_id$offset() + Pthread.MUTEX_GROWTH;
    private static final long WR_FLAGS = ibv_qp_ex.wr_flags$offset() + Pthread.MUTEX_GROWTH;
    private static final int SEND = SendOperation.SEND.code();
    private static final int RDMA_WRITE = SendOperation.RDMA_WRITE.code();

    /** For subclasses. */
    protected SendVerbs() {}

    /**
     * Sets identifier and flags of the next work request: the fields {@code wr_id} and {@code wr_flags} of the structure.
     *
     * @param queuePair the {@code struct ibv_qp_ex}
     * @param id the identifier
     * @param flags a mask of enum ibv_send_flags
     */
    public void identify(long queuePair, long id, int flags) {
        Native.putLong(queuePair + WR_ID, id);
        Native.putInt(queuePair + WR_FLAGS, flags);
    }

    /**
     * Builds a whole work request of the most frequent kind: {@link #identify}, {@link #wrSend}, {@link #wrRdmaWrite} or
     * {@link #wrRdmaRead}, and {@link #wrSetSge}.
     *
     * @param queuePair the {@code struct ibv_qp_ex} of a queue pair whose work requests have no destination
     * @param id the identifier
     * @param flags a mask of enum ibv_send_flags
     * @param operation the code of SEND, RDMA_WRITE or RDMA_READ
     * @param rkey the remote key, unless it is a send
     * @param remoteAddress the remote address, unless it is a send
     * @param lkey the local key
     * @param address the address of the data
     * @param length the size of the data in bytes
     */
    public void build(
            long queuePair,
            long id,
            int flags,
            int operation,
            int rkey,
            long remoteAddress,
            int lkey,
            long address,
            int length) {
        identify(queuePair, id, flags);
        if (operation == RDMA_WRITE) {
            wrRdmaWrite(queuePair, rkey, remoteAddress);
        } else if (operation == SEND) {
            wrSend(queuePair);
        } else {
            wrRdmaRead(queuePair, rkey, remoteAddress);
        }
        wrSetSge(queuePair, lkey, address, length);
    }

    /** ibv_wr_start: locks the send queue until completed or aborted. */
    public abstract void wrStart(long queuePair);

    /** ibv_wr_complete: zero or a negated errno, ENOMEM when the queue is full. */
    public abstract int wrComplete(long queuePair);

    /** ibv_wr_abort. */
    public abstract void wrAbort(long queuePair);

    /** ibv_wr_send. */
    public abstract void wrSend(long queuePair);

    /** ibv_wr_send_imm; the immediate data is in network byte order. */
    public abstract void wrSendImm(long queuePair, int immediate);

    /** ibv_wr_send_inv. */
    public abstract void wrSendInv(long queuePair, int rkey);

    /** ibv_wr_send_tso. */
    public abstract void wrSendTso(long queuePair, long header, short headerSize, short mss);

    /** ibv_wr_rdma_read. */
    public abstract void wrRdmaRead(long queuePair, int rkey, long remoteAddress);

    /** ibv_wr_rdma_write. */
    public abstract void wrRdmaWrite(long queuePair, int rkey, long remoteAddress);

    /** ibv_wr_rdma_write_imm; the immediate data is in network byte order. */
    public abstract void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate);

    /** ibv_wr_atomic_cmp_swp. */
    public abstract void wrAtomicCmpSwp(long queuePair, int rkey, long remoteAddress, long compare, long swap);

    /** ibv_wr_atomic_fetch_add. */
    public abstract void wrAtomicFetchAdd(long queuePair, int rkey, long remoteAddress, long add);

    /** ibv_wr_atomic_write; the value is given by its address. */
    public abstract void wrAtomicWrite(long queuePair, int rkey, long remoteAddress, long value);

    /** ibv_wr_flush. */
    public abstract void wrFlush(long queuePair, int rkey, long remoteAddress, long length, byte type, byte level);

    /** ibv_wr_bind_mw. */
    public abstract void wrBindMw(long queuePair, long memoryWindow, int rkey, long bindInfo);

    /** ibv_wr_local_inv. */
    public abstract void wrLocalInv(long queuePair, int rkey);

    /** ibv_wr_set_ud_addr. */
    public abstract void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey);

    /** ibv_wr_set_xrc_srqn. */
    public abstract void wrSetXrcSrqn(long queuePair, int number);

    /** ibv_wr_set_inline_data. */
    public abstract void wrSetInlineData(long queuePair, long address, long length);

    /** ibv_wr_set_inline_data_list of an array of struct ibv_data_buf. */
    public abstract void wrSetInlineDataList(long queuePair, long count, long list);

    /** ibv_wr_set_sge. */
    public abstract void wrSetSge(long queuePair, int lkey, long address, int length);

    /** ibv_wr_set_sge_list of an array of struct ibv_sge, which {@link #faultOfSgeList} accepts. */
    public abstract void wrSetSgeList(long queuePair, long count, long list);

    /**
     * Returns why {@link #wrSetSgeList} must not be called with these segments, as a description of a driver that
     * handles them correctly, for people to read; null if this one does.
     */
    public String faultOfSgeList(long count, long list) {
        return null;
    }
}
