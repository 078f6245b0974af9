package org.rdmapanama.standin;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.Device;
import org.rdmapanama.Insides;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.libibverbs.WatchedVerbs;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.SendVerbs;

/**
 * A device that has what Soft-RoCE lacks, as far as can be told from outside. Where something similar can be made, it
 * stands for the other: a parent domain is a protection domain that remembers its allocator. What is left is zeroed
 * memory. It also knows about the batches on its extended queues.
 */
public final class PretendingProvider extends RecordingProvider {
    private static final long STRUCT_BYTES = 1024;
    private static final long PAGE = 4096;

    private final Arena memory = Arena.ofAuto();
    private MemorySegment allocate = MemorySegment.NULL;
    private MemorySegment free = MemorySegment.NULL;

    private PretendingProvider(Device device) {
        super(Insides.provider(device));
    }

    public static PretendingProvider of(Device device) {
        return new PretendingProvider(device);
    }

    private long made() {
        return lives().made(memory.allocate(STRUCT_BYTES, 16).address());
    }

    /** Asks the allocator of the parent domain made last, as a driver does. */
    public long allocate(long size, long alignment, long type) {
        return ibv_parent_domain_init_attr
                .alloc
                .invoke(allocate, MemorySegment.NULL, MemorySegment.NULL, size, alignment, type)
                .address();
    }

    public void free(long address, long type) {
        ibv_parent_domain_init_attr.free.invoke(
                free, MemorySegment.NULL, MemorySegment.NULL, MemorySegment.ofAddress(address), type);
    }

    @Override
    public long allocateThreadDomain(long attributes) {
        return made();
    }

    @Override
    public int deallocateThreadDomain(long threadDomain) {
        return ending("dealloc_td", threadDomain, () -> 0);
    }

    @Override
    @SuppressWarnings("restricted")
    public long allocateParentDomain(long attributes) {
        MemorySegment struct = MemorySegment.ofAddress(attributes).reinterpret(ibv_parent_domain_init_attr.sizeof());
        allocate = ibv_parent_domain_init_attr.alloc(struct);
        free = ibv_parent_domain_init_attr.free(struct);
        return allocateProtectionDomain();
    }

    @Override
    public long createFlow(long queuePair, long attributes) {
        return made();
    }

    @Override
    public int destroyFlow(long flow) {
        return ending("destroy_flow", flow, () -> 0);
    }

    @Override
    public long createFlowActionEsp(long attributes) {
        return made();
    }

    @Override
    public int destroyFlowAction(long action) {
        return ending("destroy_flow_action", action, () -> 0);
    }

    @Override
    public long createCounters(long attributes) {
        return made();
    }

    @Override
    public int destroyCounters(long counters) {
        return ending("destroy_counters", counters, () -> 0);
    }

    @Override
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        return 0;
    }

    @Override
    public long openXrcDomain(long attributes) {
        return made();
    }

    @Override
    public int closeXrcDomain(long xrcDomain) {
        return ending("close_xrcd", xrcDomain, () -> 0);
    }

    @Override
    public long allocateDeviceMemory(long attributes) {
        return made();
    }

    @Override
    public int freeDeviceMemory(long deviceMemory) {
        return ending("free_dm", deviceMemory, () -> 0);
    }

    @Override
    public long registerDeviceMemory(long protectionDomain, long deviceMemory, long offset, long length, int access) {
        long page = memory.allocate(PAGE, PAGE).address();
        return registerMemory(protectionDomain, page, PAGE, page, rdma_h.IBV_ACCESS_LOCAL_WRITE());
    }

    @Override
    public long createWorkQueue(long initialAttributes) {
        return made();
    }

    @Override
    public int destroyWorkQueue(long workQueue) {
        return ending("destroy_wq", workQueue, () -> 0);
    }

    @Override
    public int postWorkQueueReceive(long workQueue, long workRequest, long bad) {
        return (int) lives().using(workQueue, () -> 0);
    }

    @Override
    public long createIndirectionTable(long initialAttributes) {
        return made();
    }

    @Override
    public int destroyIndirectionTable(long table) {
        return ending("destroy_rwq_ind_table", table, () -> 0);
    }

    /** Queue pairs without queues of their own, of an XRC domain or an indirection table, are pretended. */
    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        int extensions = ibv_qp_init_attr_ex.comp_mask(Native.struct(initialAttributes, ibv_qp_init_attr_ex.layout()));
        boolean pretended = (extensions & (rdma_h.IBV_QP_INIT_ATTR_XRCD() | rdma_h.IBV_QP_INIT_ATTR_IND_TABLE())) != 0;
        return pretended ? made() : super.createExtendedQueuePair(initialAttributes);
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        return ibv_qp.context(Native.struct(queuePair, ibv_qp.layout())).address() == 0
                ? ending("destroy_qp", queuePair, () -> 0)
                : super.destroyQueuePair(queuePair);
    }

    /** A plain one, for which the attributes begin in the same way. */
    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        MemorySegment struct = Native.struct(initialAttributes, ibv_srq_init_attr_ex.layout());
        return createSharedReceiveQueue(ibv_srq_init_attr_ex.pd(struct).address(), initialAttributes);
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        MemorySegment struct = Native.struct(attributes, ibv_cq_init_attr_ex.layout());
        ibv_cq_init_attr_ex.comp_mask(
                struct, ibv_cq_init_attr_ex.comp_mask(struct) & ~rdma_h.IBV_CQ_INIT_ATTR_MASK_PD());
        return super.createExtendedCompletionQueue(attributes);
    }

    @Override
    public SendVerbs prepareSendBatches() {
        return WatchedVerbs.sends(super.prepareSendBatches(), lives()::begin, lives()::finish);
    }

    @Override
    public CompletionVerbs preparePollBatches(boolean singleThreaded) {
        return WatchedVerbs.completions(super.preparePollBatches(singleThreaded), lives()::begin, lives()::finish);
    }
}
