package org.rdmapanama.internal.provider;

/**
 * The verbs of one open device, over the C structures of {@code verbs.h}.
 *
 * <p>Each method stands for the function of libibverbs that it is named after and takes what that function takes:
 * structures and objects by address. Results follow one rule: zero or positive is success (an address, a count, or
 * zero), negative is a negated errno. Nothing here throws for a failed verb, and the three methods of the data path,
 * {@link #postSend}, {@link #postReceive} and {@link #pollCompletionQueue}, allocate nothing.
 *
 * <p>Threads: as in libibverbs, any thread may call any method, but destroying an object while another thread uses it
 * is the caller's fault.
 */
public abstract class ProviderContext {
    /** For subclasses. */
    protected ProviderContext() {}

    /**
     * The address of the {@code struct ibv_context}.
     *
     * @return the address
     */
    public abstract long address();

    /**
     * Short name of the driver behind the device, such as {@code mlx5} or {@code rxe}.
     *
     * @return the name
     */
    public abstract String driver();

    /** ibv_close_device. */
    public abstract int close();

    /** ibv_query_device_ex into a struct ibv_device_attr_ex. */
    public abstract int queryDevice(long attributes);

    /** ibv_query_port into a struct ibv_port_attr. */
    public abstract int queryPort(int port, long attributes);

    /** ibv_query_gid_table into an array of struct ibv_gid_entry: the number of entries. */
    public abstract int queryGidTable(long entries, int capacity);

    /** ibv_query_pkey: the P_Key in host byte order. */
    public abstract int queryPkey(int port, int index);

    /** ibv_get_async_event into a struct ibv_async_event after waiting at most so long: 1, or 0 when nothing came. */
    public abstract int getAsyncEvent(long event, int timeoutMillis);

    /** ibv_ack_async_event. */
    public abstract void ackAsyncEvent(long event);

    /** ibv_alloc_pd: a struct ibv_pd. */
    public abstract long allocateProtectionDomain();

    /** ibv_dealloc_pd. */
    public abstract int deallocateProtectionDomain(long protectionDomain);

    /** ibv_reg_mr, or with another iova ibv_reg_mr_iova: a struct ibv_mr. */
    public abstract long registerMemory(long protectionDomain, long address, long length, long iova, int access);

    /** ibv_dereg_mr. */
    public abstract int deregisterMemory(long memoryRegion);

    /** ibv_create_comp_channel: a struct ibv_comp_channel. */
    public abstract long createCompletionChannel();

    /** ibv_destroy_comp_channel. */
    public abstract int destroyCompletionChannel(long channel);

    /**
     * ibv_get_cq_event after waiting at most so long: the {@code cq_context} of the completion queue that has an
     * event, which must be positive, or 0 when nothing came. The event is acknowledged already.
     */
    public abstract long getCompletionEvent(long channel, int timeoutMillis);

    /** ibv_create_cq: a struct ibv_cq. */
    public abstract long createCompletionQueue(int entries, long cqContext, long channel, int completionVector);

    /** ibv_destroy_cq. */
    public abstract int destroyCompletionQueue(long completionQueue);

    /** ibv_req_notify_cq. */
    public abstract int requestNotification(long completionQueue, boolean solicitedOnly);

    /** ibv_poll_cq into an array of struct ibv_wc: the number of completions. */
    public abstract int pollCompletionQueue(long completionQueue, int capacity, long completions);

    /** ibv_create_qp from a struct ibv_qp_init_attr: a struct ibv_qp. */
    public abstract long createQueuePair(long protectionDomain, long initialAttributes);

    /** ibv_modify_qp. */
    public abstract int modifyQueuePair(long queuePair, long attributes, int mask);

    /** ibv_query_qp. */
    public abstract int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes);

    /** ibv_destroy_qp. */
    public abstract int destroyQueuePair(long queuePair);

    /** ibv_post_send of a chain of struct ibv_send_wr; on failure *bad is the first one not posted. */
    public abstract int postSend(long queuePair, long workRequest, long bad);

    /** ibv_post_recv of a chain of struct ibv_recv_wr; on failure *bad is the first one not posted. */
    public abstract int postReceive(long queuePair, long workRequest, long bad);

    /** ibv_create_ah from a struct ibv_ah_attr: a struct ibv_ah. */
    public abstract long createAddressHandle(long protectionDomain, long attributes);

    /** ibv_destroy_ah. */
    public abstract int destroyAddressHandle(long addressHandle);
}
