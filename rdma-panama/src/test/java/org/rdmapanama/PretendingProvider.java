package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmapanama.ffm.verbs.ibv_parent_domain_init_attr;

/**
 * A device that has what Soft-RoCE lacks, as far as can be told from outside: flows, counters, actions and thread
 * domains are numbers, and a parent domain is a protection domain that remembers its allocator.
 */
final class PretendingProvider extends RecordingProvider {
    private final AtomicLong nextAddress = new AtomicLong(0x1000);
    private MemorySegment allocate = MemorySegment.NULL;
    private MemorySegment free = MemorySegment.NULL;

    private PretendingProvider(Device device) {
        super(device.providerDevice().provider().open(device.providerDevice()));
    }

    static PretendingProvider of(Device device) {
        return new PretendingProvider(device);
    }

    private long made() {
        return nextAddress.addAndGet(16);
    }

    /** Asks the allocator of the parent domain made last, as a driver does. */
    long allocate(long size, long alignment, long type) {
        return ibv_parent_domain_init_attr
                .alloc
                .invoke(allocate, MemorySegment.NULL, MemorySegment.NULL, size, alignment, type)
                .address();
    }

    void free(long address, long type) {
        ibv_parent_domain_init_attr.free.invoke(
                free, MemorySegment.NULL, MemorySegment.NULL, MemorySegment.ofAddress(address), type);
    }

    @Override
    public long allocateThreadDomain(long attributes) {
        return made();
    }

    @Override
    public int deallocateThreadDomain(long threadDomain) {
        super.deallocateThreadDomain(threadDomain);
        return 0;
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
        super.destroyFlow(flow);
        return 0;
    }

    @Override
    public long createFlowActionEsp(long attributes) {
        return made();
    }

    @Override
    public int destroyFlowAction(long action) {
        super.destroyFlowAction(action);
        return 0;
    }

    @Override
    public long createCounters(long attributes) {
        return made();
    }

    @Override
    public int destroyCounters(long counters) {
        super.destroyCounters(counters);
        return 0;
    }

    @Override
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        return 0;
    }
}
