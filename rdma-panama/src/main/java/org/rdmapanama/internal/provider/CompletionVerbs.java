package org.rdmapanama.internal.provider;

/**
 * Reading completions off an extended completion queue one by one: the functions of {@code struct ibv_cq_ex}. Each
 * takes the address of that structure. Status and identifier of the current completion are fields of the structure; see
 * ibv_create_cq_ex(3).
 *
 * <p>Between a successful start and the end the driver may hold a lock. During that time no other call may poll or
 * resize the queue, or destroy or reset a queue pair that reports to it.
 */
public abstract class CompletionVerbs {
    /** For subclasses. */
    protected CompletionVerbs() {}

    /**
     * ibv_start_poll: zero, or a negated errno, ENOENT for an empty queue. If zero, locks the queue until {@link
     * #endPoll}.
     */
    public abstract int startPoll(long completionQueue, long attributes);

    /**
     * ibv_next_poll: zero, or a negated errno, ENOENT if there is no further completion. If not zero, ibv_end_poll has
     * also been called, and {@link #startPoll} may follow.
     */
    public abstract int nextPoll(long completionQueue);

    /** ibv_end_poll: the current completion counts as read. Called after a start or a next that returned zero. */
    public abstract void endPoll(long completionQueue);

    /** The fields that can be read, as bits of enum ibv_create_cq_wc_flags. */
    public abstract int readable(long completionQueue);

    /** ibv_wc_read_opcode. */
    public abstract int readOpcode(long completionQueue);

    /** ibv_wc_read_vendor_err. */
    public abstract int readVendorErr(long completionQueue);

    /** ibv_wc_read_byte_len. */
    public abstract int readByteLen(long completionQueue);

    /** ibv_wc_read_imm_data, in network byte order, and ibv_wc_read_invalidated_rkey, in host byte order. */
    public abstract int readImmData(long completionQueue);

    /** ibv_wc_read_qp_num. */
    public abstract int readQpNum(long completionQueue);

    /** ibv_wc_read_src_qp. */
    public abstract int readSrcQp(long completionQueue);

    /** ibv_wc_read_wc_flags. */
    public abstract int readWcFlags(long completionQueue);

    /** ibv_wc_read_slid. */
    public abstract int readSlid(long completionQueue);

    /** ibv_wc_read_sl. */
    public abstract byte readSl(long completionQueue);

    /** ibv_wc_read_dlid_path_bits. */
    public abstract byte readDlidPathBits(long completionQueue);

    /** ibv_wc_read_completion_ts. */
    public abstract long readCompletionTs(long completionQueue);

    /** ibv_wc_read_completion_wallclock_ns. */
    public abstract long readCompletionWallclockNs(long completionQueue);

    /** ibv_wc_read_cvlan, in network byte order. */
    public abstract short readCvlan(long completionQueue);

    /** ibv_wc_read_flow_tag. */
    public abstract int readFlowTag(long completionQueue);

    /** ibv_wc_read_tm_info into a struct ibv_wc_tm_info. */
    public abstract void readTmInfo(long completionQueue, long info);
}
