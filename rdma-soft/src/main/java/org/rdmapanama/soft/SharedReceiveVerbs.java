package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_srq;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * The verbs of shared receive queues, except posting. {@link SoftContext} forwards the calls of the program, on any
 * thread; each method takes the lock of the device itself. Destroying waits for unacknowledged events, without the
 * lock.
 */
final class SharedReceiveVerbs {
    private static final long SRQ_HANDLE = ibv_srq.handle$offset();

    private final SoftContext context;
    private final SoftDevice device;

    SharedReceiveVerbs(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_srq_init_attr.layout());
        return createShared(protectionDomain, ibv_srq_init_attr.srq_context(init), ibv_srq_init_attr.attr(init));
    }

    long createExtendedSharedReceiveQueue(long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_srq_init_attr_ex.layout());
        int mask = ibv_srq_init_attr_ex.comp_mask(init);
        boolean basic = (mask & rdma_h.IBV_SRQ_INIT_ATTR_TYPE()) == 0
                || ibv_srq_init_attr_ex.srq_type(init) == rdma_h.IBV_SRQT_BASIC();
        if (!basic) {
            return -Errno.EOPNOTSUPP;
        }
        return createShared(
                ibv_srq_init_attr_ex.pd(init).address(),
                ibv_srq_init_attr_ex.srq_context(init),
                ibv_srq_init_attr_ex.attr(init));
    }

    private long createShared(long protectionDomain, MemorySegment srqContext, MemorySegment attributes) {
        int entries = ibv_srq_attr.max_wr(attributes);
        int segments = ibv_srq_attr.max_sge(attributes);
        if (entries < 1 || entries > DeviceTables.MAX_WORK || segments < 1 || segments > DeviceTables.MAX_SEGMENTS) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            SoftProtectionDomain domain = context.memory().domain(protectionDomain);
            SoftSharedReceiveQueue queue = device.sharedReceives.make(
                    ibv_srq.sizeof() + Pthread.MUTEX_GROWTH,
                    (struct, number) ->
                            new SoftSharedReceiveQueue(context, struct, number, domain.number, entries, segments));
            NativeBlock block = queue.struct;
            domain.users++;
            ibv_srq_attr.max_wr(attributes, queue.receives.capacity());
            MemorySegment srq = Native.struct(block.address(), ibv_srq.layout());
            ibv_srq.context(srq, MemorySegment.ofAddress(context.address()));
            ibv_srq.srq_context(srq, srqContext);
            ibv_srq.pd(srq, MemorySegment.ofAddress(protectionDomain));
            ibv_srq.handle(srq, queue.number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    SoftSharedReceiveQueue shared(long address) {
        return device.sharedReceives.get(Memory.getInt(address + SRQ_HANDLE));
    }

    int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        MemorySegment attr = Native.struct(attributes, ibv_srq_attr.layout());
        device.lock();
        try {
            SoftSharedReceiveQueue queue = shared(sharedReceiveQueue);
            int entries = (mask & rdma_h.IBV_SRQ_MAX_WR()) != 0 ? ibv_srq_attr.max_wr(attr) : queue.receives.capacity();
            boolean limits = (mask & rdma_h.IBV_SRQ_LIMIT()) != 0;
            if (entries < 1 || entries > DeviceTables.MAX_WORK || (limits && ibv_srq_attr.srq_limit(attr) > entries)) {
                return -Errno.EINVAL;
            }
            if ((mask & rdma_h.IBV_SRQ_MAX_WR()) != 0 && !queue.receives.resize(entries)) {
                return -Errno.EINVAL;
            }
            if (limits) {
                queue.limit = ibv_srq_attr.srq_limit(attr);
            }
            return 0;
        } finally {
            device.unlock();
        }
    }

    int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        device.lock();
        try {
            SoftSharedReceiveQueue queue = shared(sharedReceiveQueue);
            MemorySegment attr = Native.struct(attributes, ibv_srq_attr.layout());
            ibv_srq_attr.max_wr(attr, queue.receives.capacity());
            ibv_srq_attr.max_sge(attr, queue.receives.maxSegments);
            ibv_srq_attr.srq_limit(attr, queue.limit);
            return 0;
        } finally {
            device.unlock();
        }
    }

    int destroySharedReceiveQueue(long sharedReceiveQueue) {
        SoftSharedReceiveQueue queue;
        device.lock();
        try {
            queue = shared(sharedReceiveQueue);
            if (queue.users > 0) {
                return -Errno.EBUSY;
            }
            device.sharedReceives.remove(queue.number);
            device.protectionDomains.get(queue.protectionDomain).users--;
            context.events().forget(sharedReceiveQueue);
            queue.free();
        } finally {
            device.unlock();
        }
        context.events().taken().await(sharedReceiveQueue);
        queue.struct.free();
        return 0;
    }
}
