package org.rdmapanama.internal.provider;

import static org.rdmapanama.ffm.internal.Errno.EOPNOTSUPP;

import java.util.SortedMap;
import java.util.TreeMap;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The verbs of one open device, over the C structures of {@code verbs.h}.
 *
 * <p>Each method corresponds to the function of libibverbs that it is named after and takes the same arguments:
 * structures and objects by address. Results follow one rule: zero or positive is success (an address, a count, or
 * zero), negative is a negated errno. No method throws for a failed verb, and the three methods of the data path,
 * {@link #postSend}, {@link #postReceive} and {@link #pollCompletionQueue}, allocate nothing.
 *
 * <p>Threads: as in libibverbs, any thread may call any method, but destroying an object while another thread uses it
 * is an error of the caller.
 */
public abstract class ProviderContext implements PostVerbs, PollVerbs {
    /** For subclasses. */
    protected ProviderContext() {}

    /**
     * Returns what to do about an errno, if that depends on this device.
     *
     * @param errno what a verb reported, positive
     * @return the cure, or null if there is none
     */
    public String cure(int errno) {
        return null;
    }

    /** {@return the address of the {@code struct ibv_context}} */
    public abstract long address();

    /** {@return the short name of the driver behind the device, such as {@code mlx5} or {@code rxe}} */
    public abstract String driver();

    /**
     * Returns the way to have Java write and read the rings of some queues itself.
     *
     * @return the direct path of this device
     * @throws UnsupportedOperationException when there is none; the message says why and what helps
     */
    public DirectPath directPath() {
        throw new UnsupportedOperationException("the driver " + driver()
                + " has no direct path; only mlx5, the driver of ConnectX cards, and efa, the driver of"
                + " Amazon's EFA, have one");
    }

    /**
     * Prepares this context for batches of sends, of extended queue pairs, and returns their functions. This cannot be
     * undone, and it may make other calls slower: with drivers whose polling waits for an open batch, polling any queue
     * of this context is no longer a critical call from then on, in which the wait would hold off safepoints.
     *
     * <p>It must be called before the first batch of a queue pair, and only for queue pairs that can have one.
     */
    public abstract SendVerbs prepareSendBatches();

    /**
     * Prepares this context for batches of completions, of extended completion queues, and returns their functions. This
     * cannot be undone, and it may make other calls slower: posting to any queue of this context is no longer a critical
     * call from then on. A driver whose queue is full may wait for an open batch, and in a critical call the wait would
     * hold off safepoints.
     *
     * <p>It must be called before the first batch of a completion queue, and only for queues that can have one.
     *
     * @param singleThreaded whether the queue was created single-threaded, so that a batch of it may hold no lock
     */
    public abstract CompletionVerbs preparePollBatches(boolean singleThreaded);

    /** ibv_close_device. */
    public abstract int close();

    /** ibv_query_device_ex into a struct ibv_device_attr_ex. */
    public abstract int queryDevice(long attributes);

    /** ibv_query_port into a struct ibv_port_attr. */
    public abstract int queryPort(int port, long attributes);

    /**
     * Returns what a port has counted. Any thread may call it at any time, also after {@link #close}.
     *
     * @param deviceName the name of the device
     * @param port its number
     * @return the counts by name, possibly none; null if there is no such port
     */
    public SortedMap<String, Long> portCounters(
            @SuppressWarnings("unused") String deviceName, @SuppressWarnings("unused") int port) {
        return new TreeMap<>();
    }

    /** ibv_query_gid_table into an array of struct ibv_gid_entry: the number of entries. */
    public abstract int queryGidTable(long entries, int capacity);

    /** ibv_query_pkey: the P_Key in host byte order. */
    public abstract int queryPkey(int port, int index);

    /** Returns what tells of asynchronous events. Called once, by the object that closes it before this is closed. */
    public abstract ReadySource asyncEvents();

    /** ibv_get_async_event into a struct ibv_async_event, without waiting: 1, or 0 if there is none. */
    public abstract int getAsyncEvent(long event);

    /** ibv_ack_async_event: until then, destroying the object of the event waits. */
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

    /** Creates a struct ibv_comp_channel that other code created, for {@link #getCompletionEvent}: zero. */
    public int adoptCompletionChannel(long channel) {
        return 0;
    }

    /** ibv_destroy_comp_channel. */
    public abstract int destroyCompletionChannel(long channel);

    /**
     * Returns what tells of the events of a channel. Called once, by the object that closes it before it destroys the
     * channel.
     */
    public abstract ReadySource completionEvents(long channel);

    /**
     * ibv_get_cq_event, without waiting: the address of the completion queue that has an event, or 0 if there is none.
     * {@link #ackCompletionEvent} must follow. Allocates nothing.
     */
    public abstract long getCompletionEvent(long channel);

    /** ibv_ack_cq_events of one event: until then, destroying the queue waits. */
    public abstract void ackCompletionEvent(long channel, long completionQueue);

    /** ibv_create_cq: a struct ibv_cq. */
    public abstract long createCompletionQueue(int entries, long cqContext, long channel, int completionVector);

    /** ibv_destroy_cq. */
    public abstract int destroyCompletionQueue(long completionQueue);

    /** ibv_create_qp from a struct ibv_qp_init_attr: a struct ibv_qp. */
    public abstract long createQueuePair(long protectionDomain, long initialAttributes);

    /** ibv_modify_qp. */
    public abstract int modifyQueuePair(long queuePair, long attributes, int mask);

    /** ibv_query_qp. */
    public abstract int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes);

    /** ibv_destroy_qp. */
    public abstract int destroyQueuePair(long queuePair);

    /** {@return whether a receive without segments completes; a driver may accept and forget it} */
    public boolean completesEmptyReceives() {
        return true;
    }

    /** ibv_create_ah from a struct ibv_ah_attr: a struct ibv_ah. */
    public abstract long createAddressHandle(long protectionDomain, long attributes);

    /** ibv_destroy_ah. */
    public abstract int destroyAddressHandle(long addressHandle);

    // Not every device supports the following; by default, none of it is supported.

    // Device: tables and clock.

    /** ibv_query_gid into a union ibv_gid; an empty place gives zeros. */
    public int queryGid(int port, int index, long gid) {
        return -EOPNOTSUPP;
    }

    /** ibv_query_gid_ex into a struct ibv_gid_entry. */
    public int queryGidEx(int port, int index, long entry) {
        return -EOPNOTSUPP;
    }

    /** ibv_get_pkey_index of a P_Key in host byte order: its place in the table. */
    public int pkeyIndex(int port, int pkey) {
        return -EOPNOTSUPP;
    }

    /** ibv_query_rt_values_ex into a struct ibv_values_ex. */
    public int queryRealTime(long values) {
        return -EOPNOTSUPP;
    }

    /** ibv_resolve_eth_l2_from_gid of a struct ibv_ah_attr into six bytes and an uint16_t. */
    public int resolveEthernetAddress(long attributes, long mac, long vlan) {
        return -EOPNOTSUPP;
    }

    // Objects of other processes.

    /** ibv_import_pd: a struct ibv_pd. */
    public long importProtectionDomain(int handle) {
        return -EOPNOTSUPP;
    }

    /** ibv_unimport_pd. */
    public void unimportProtectionDomain(long protectionDomain) {
        throw new UnsupportedOperationException("unimportProtectionDomain");
    }

    /** ibv_import_mr: a struct ibv_mr. */
    public long importMemoryRegion(long protectionDomain, int handle) {
        return -EOPNOTSUPP;
    }

    /** ibv_unimport_mr. */
    public void unimportMemoryRegion(long memoryRegion) {
        throw new UnsupportedOperationException("unimportMemoryRegion");
    }

    /** ibv_import_dm: a struct ibv_dm. */
    public long importDeviceMemory(int handle) {
        return -EOPNOTSUPP;
    }

    /** ibv_unimport_dm. */
    public void unimportDeviceMemory(long deviceMemory) {
        throw new UnsupportedOperationException("unimportDeviceMemory");
    }

    // Domains.

    /** ibv_alloc_td from a struct ibv_td_init_attr: a struct ibv_td. */
    public long allocateThreadDomain(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_dealloc_td. */
    public int deallocateThreadDomain(long threadDomain) {
        return -EOPNOTSUPP;
    }

    /**
     * ibv_alloc_parent_domain from a struct ibv_parent_domain_init_attr: a struct ibv_pd, which ibv_dealloc_pd ends.
     */
    public long allocateParentDomain(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_open_xrcd from a struct ibv_xrcd_init_attr: a struct ibv_xrcd. */
    public long openXrcDomain(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_close_xrcd. */
    public int closeXrcDomain(long xrcDomain) {
        return -EOPNOTSUPP;
    }

    // Memory.

    /**
     * ibv_rereg_mr; the int at {@code code} gets the enum ibv_rereg_mr_err_code, which tells what is left of the
     * region.
     */
    public int reregisterMemory(
            long memoryRegion, int flags, long protectionDomain, long address, long length, int access, long code) {
        Native.putInt(code, rdma_h.IBV_REREG_MR_ERR_INPUT());
        return -EOPNOTSUPP;
    }

    /** ibv_reg_dmabuf_mr: a struct ibv_mr. */
    public long registerDmaBuffer(long protectionDomain, long offset, long length, long iova, int fd, int access) {
        return -EOPNOTSUPP;
    }

    /** ibv_alloc_null_mr: a struct ibv_mr. */
    public long allocateNullRegion(long protectionDomain) {
        return -EOPNOTSUPP;
    }

    /** ibv_advise_mr of an array of struct ibv_sge. */
    public int advise(long protectionDomain, int advice, int flags, long list, int count) {
        return -EOPNOTSUPP;
    }

    /** ibv_alloc_dm from a struct ibv_alloc_dm_attr: a struct ibv_dm. */
    public long allocateDeviceMemory(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_free_dm. */
    public int freeDeviceMemory(long deviceMemory) {
        return -EOPNOTSUPP;
    }

    /** ibv_memcpy_to_dm. */
    public int copyToDeviceMemory(long deviceMemory, long offset, long host, long length) {
        return -EOPNOTSUPP;
    }

    /** ibv_memcpy_from_dm. */
    public int copyFromDeviceMemory(long host, long deviceMemory, long offset, long length) {
        return -EOPNOTSUPP;
    }

    /** ibv_reg_dm_mr: a struct ibv_mr. */
    public long registerDeviceMemory(long protectionDomain, long deviceMemory, long offset, long length, int access) {
        return -EOPNOTSUPP;
    }

    /** ibv_alloc_mw: a struct ibv_mw. */
    public long allocateMemoryWindow(long protectionDomain, int type) {
        return -EOPNOTSUPP;
    }

    /** ibv_dealloc_mw. */
    public int deallocateMemoryWindow(long memoryWindow) {
        return -EOPNOTSUPP;
    }

    /** ibv_bind_mw of a struct ibv_mw_bind, without the checks that the C function makes before it calls the driver. */
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        return -EOPNOTSUPP;
    }

    // Completion queues.

    /** ibv_create_cq_ex from a struct ibv_cq_init_attr_ex: a struct ibv_cq_ex. */
    public long createExtendedCompletionQueue(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_resize_cq. */
    public int resizeCompletionQueue(long completionQueue, int entries) {
        return -EOPNOTSUPP;
    }

    /** ibv_modify_cq from a struct ibv_modify_cq_attr. */
    public int modifyCompletionQueue(long completionQueue, long attributes) {
        return -EOPNOTSUPP;
    }

    // Shared receive queues.

    /** ibv_create_srq from a struct ibv_srq_init_attr: a struct ibv_srq. */
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_create_srq_ex from a struct ibv_srq_init_attr_ex: a struct ibv_srq. */
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_modify_srq. */
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        return -EOPNOTSUPP;
    }

    /** ibv_query_srq. */
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_get_srq_num into an uint32_t. */
    public int sharedReceiveQueueNumber(long sharedReceiveQueue, long number) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_srq. */
    public int destroySharedReceiveQueue(long sharedReceiveQueue) {
        return -EOPNOTSUPP;
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        return -EOPNOTSUPP;
    }

    /** ibv_post_srq_ops of a chain of struct ibv_ops_wr; on failure *bad is the first one not posted. */
    public int postSharedOperations(long sharedReceiveQueue, long operation, long bad) {
        return -EOPNOTSUPP;
    }

    // Queue pairs beyond the plain ones.

    /** ibv_create_qp_ex from a struct ibv_qp_init_attr_ex: a struct ibv_qp. */
    public long createExtendedQueuePair(long initialAttributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_open_qp from a struct ibv_qp_open_attr: a struct ibv_qp. */
    public long openQueuePair(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_qp_to_qp_ex: the struct ibv_qp_ex, or 0 when the queue pair was made without send operations. */
    public long extended(long queuePair) {
        return -EOPNOTSUPP;
    }

    /** ibv_modify_qp_rate_limit from a struct ibv_qp_rate_limit_attr. */
    public int modifyRateLimit(long queuePair, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_query_qp_data_in_order: bits. */
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        return -EOPNOTSUPP;
    }

    /** ibv_set_ece from a struct ibv_ece. */
    public int setEce(long queuePair, long ece) {
        return -EOPNOTSUPP;
    }

    /** ibv_query_ece into a struct ibv_ece. */
    public int queryEce(long queuePair, long ece) {
        return -EOPNOTSUPP;
    }

    /** ibv_attach_mcast to a union ibv_gid. */
    public int attachMulticast(long queuePair, long gid, int lid) {
        return -EOPNOTSUPP;
    }

    /** ibv_detach_mcast from a union ibv_gid. */
    public int detachMulticast(long queuePair, long gid, int lid) {
        return -EOPNOTSUPP;
    }

    // Address handles of the senders of messages.

    /** ibv_init_ah_from_wc from a struct ibv_wc and a struct ibv_grh into a struct ibv_ah_attr. */
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_create_ah_from_wc from a struct ibv_wc and a struct ibv_grh: a struct ibv_ah. */
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        return -EOPNOTSUPP;
    }

    // Work queues and their indirection tables.

    /** ibv_create_wq from a struct ibv_wq_init_attr: a struct ibv_wq. */
    public long createWorkQueue(long initialAttributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_modify_wq from a struct ibv_wq_attr. */
    public int modifyWorkQueue(long workQueue, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_wq. */
    public int destroyWorkQueue(long workQueue) {
        return -EOPNOTSUPP;
    }

    /** ibv_post_wq_recv of a chain of struct ibv_recv_wr; on failure *bad is the first one not posted. */
    public int postWorkQueueReceive(long workQueue, long workRequest, long bad) {
        return -EOPNOTSUPP;
    }

    /** ibv_create_rwq_ind_table from a struct ibv_rwq_ind_table_init_attr: a struct ibv_rwq_ind_table. */
    public long createIndirectionTable(long initialAttributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_rwq_ind_table. */
    public int destroyIndirectionTable(long table) {
        return -EOPNOTSUPP;
    }

    // Flow steering and counters.

    /** ibv_create_flow from a struct ibv_flow_attr with the specifications behind it: a struct ibv_flow. */
    public long createFlow(long queuePair, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_flow. */
    public int destroyFlow(long flow) {
        return -EOPNOTSUPP;
    }

    /** ibv_create_flow_action_esp from a struct ibv_flow_action_esp_attr: a struct ibv_flow_action. */
    public long createFlowActionEsp(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_modify_flow_action_esp. */
    public int modifyFlowActionEsp(long action, long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_flow_action. */
    public int destroyFlowAction(long action) {
        return -EOPNOTSUPP;
    }

    /** ibv_create_counters from a struct ibv_counters_init_attr: a struct ibv_counters. */
    public long createCounters(long attributes) {
        return -EOPNOTSUPP;
    }

    /** ibv_destroy_counters. */
    public int destroyCounters(long counters) {
        return -EOPNOTSUPP;
    }

    /** ibv_attach_counters_point_flow from a struct ibv_counter_attach_attr. */
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        return -EOPNOTSUPP;
    }

    /** ibv_read_counters into an array of uint64_t. */
    public int readCounters(long counters, long values, int count, int flags) {
        return -EOPNOTSUPP;
    }
}
