package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * The verbs of queue pairs, except posting. {@link SoftContext} forwards the calls of the program, on any thread; each
 * method takes the lock of the device itself. Destroying waits for unacknowledged events, without the lock.
 */
final class QueuePairVerbs {
    private static final long QP_HANDLE = ibv_qp.qp_num$offset();

    private final SoftContext context;
    private final SoftDevice device;

    QueuePairVerbs(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    long createQueuePair(long protectionDomain, long initialAttributes) {
        return createPair(protectionDomain, initialAttributes, false);
    }

    long createExtendedQueuePair(long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_qp_init_attr_ex.layout());
        int known = rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
        int mask = ibv_qp_init_attr_ex.comp_mask(init);
        boolean operations = (mask & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0;
        long possible = ibv_qp_init_attr_ex.qp_type(init) == VerbsConstants.UD
                ? SoftSendVerbs.DATAGRAM_OPERATIONS
                : SoftSendVerbs.OPERATIONS;
        if ((mask & ~known) != 0 || (operations && (ibv_qp_init_attr_ex.send_ops_flags(init) & ~possible) != 0)) {
            return -Errno.EOPNOTSUPP;
        }
        return createPair(ibv_qp_init_attr_ex.pd(init).address(), initialAttributes, operations);
    }

    private long createPair(long protectionDomain, long initialAttributes, boolean operations) {
        MemorySegment init = Native.struct(initialAttributes, ibv_qp_init_attr.layout());
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        long srq = ibv_qp_init_attr.srq(init).address();
        int type = ibv_qp_init_attr.qp_type(init);
        if (type != VerbsConstants.RC && type != VerbsConstants.UC && type != VerbsConstants.UD) {
            return -Errno.EOPNOTSUPP;
        }
        if (!isPossible(cap) || (srq == 0 && ibv_qp_cap.max_recv_wr(cap) < 0)) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            SoftProtectionDomain domain = context.memory().domain(protectionDomain);
            SoftCompletionQueue sends =
                    context.queue(ibv_qp_init_attr.send_cq(init).address());
            SoftCompletionQueue receives =
                    context.queue(ibv_qp_init_attr.recv_cq(init).address());
            SoftSharedReceiveQueue shared = srq == 0 ? null : context.sharedReceive(srq);
            SoftQueuePair pair = device.queuePairs.make(
                    ibv_qp_ex.sizeof() + Pthread.MUTEX_GROWTH,
                    (struct, number) ->
                            new SoftQueuePair(context, struct, number, domain.number, init, sends, receives, shared));
            if (pair == null) {
                return -Errno.ENOMEM;
            }
            NativeBlock block = pair.struct;
            pair.extended = operations;
            domain.users++;
            sends.users++;
            receives.users++;
            if (shared != null) {
                shared.users++;
            }
            MemorySegment qp = Native.struct(block.address(), ibv_qp.layout());
            ibv_qp.context(qp, MemorySegment.ofAddress(context.address()));
            ibv_qp.qp_context(qp, ibv_qp_init_attr.qp_context(init));
            ibv_qp.pd(qp, MemorySegment.ofAddress(protectionDomain));
            ibv_qp.send_cq(qp, ibv_qp_init_attr.send_cq(init));
            ibv_qp.recv_cq(qp, ibv_qp_init_attr.recv_cq(init));
            ibv_qp.srq(qp, MemorySegment.ofAddress(srq));
            ibv_qp.handle(qp, pair.number);
            ibv_qp.qp_num(qp, pair.number);
            ibv_qp.state(qp, VerbsConstants.RESET);
            ibv_qp.qp_type(qp, type);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private static boolean isPossible(MemorySegment cap) {
        return inRange(ibv_qp_cap.max_send_wr(cap), DeviceTables.MAX_WORK)
                && inRange(ibv_qp_cap.max_recv_wr(cap), DeviceTables.MAX_WORK)
                && inRange(ibv_qp_cap.max_send_sge(cap), DeviceTables.MAX_SEGMENTS)
                && inRange(ibv_qp_cap.max_recv_sge(cap), DeviceTables.MAX_SEGMENTS)
                && inRange(ibv_qp_cap.max_inline_data(cap), DeviceTables.MAX_INLINE);
    }

    private static boolean inRange(int value, int most) {
        return value >= 0 && value <= most;
    }

    SoftQueuePair queuePair(long address) {
        return device.queuePairs.get(Memory.getInt(address + QP_HANDLE));
    }

    long extended(long queuePair) {
        device.lock();
        try {
            return queuePair(queuePair).extended ? queuePair : 0;
        } finally {
            device.unlock();
        }
    }

    int modifyQueuePair(long queuePair, long attributes, int mask) {
        device.lock();
        try {
            return -queuePair(queuePair).modify(attributes, mask);
        } finally {
            device.unlock();
        }
    }

    int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        device.lock();
        try {
            return -queuePair(queuePair).query(attributes, mask, initialAttributes);
        } finally {
            device.unlock();
        }
    }

    int destroyQueuePair(long queuePair) {
        SoftQueuePair pair;
        device.lock();
        try {
            pair = queuePair(queuePair);
            if (device.groups.has(pair)) {
                return -Errno.EBUSY;
            }
            device.queuePairs.remove(pair.number);
            device.windows.unbindAllOf(pair);
            device.protectionDomains.get(pair.protectionDomain).users--;
            pair.sendQueue.users--;
            pair.receiveQueue.users--;
            if (pair.sharedReceives != null) {
                pair.sharedReceives.users--;
            }
            context.events().forget(queuePair);
            pair.free();
        } finally {
            device.unlock();
        }
        context.events().taken().await(queuePair);
        pair.struct.free();
        return 0;
    }

    int queryDataInOrder(long queuePair, int opcode, int flags) {
        return 0;
    }

    int attachMulticast(long queuePair, long gid, int lid) {
        device.lock();
        try {
            return -device.groups.attach(queuePair(queuePair), gid);
        } finally {
            device.unlock();
        }
    }

    int detachMulticast(long queuePair, long gid, int lid) {
        device.lock();
        try {
            return -device.groups.detach(queuePair(queuePair), gid);
        } finally {
            device.unlock();
        }
    }
}
