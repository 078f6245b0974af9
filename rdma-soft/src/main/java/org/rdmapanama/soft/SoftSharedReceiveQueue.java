package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * A shared receive queue, from which several queue pairs take receives. {@link SharedReceiveVerbs} creates it;
 * {@link Responder} takes receives. Callers must hold the lock of the device.
 */
final class SoftSharedReceiveQueue {
    /** The memory of the C structure. */
    final NativeBlock struct;

    final int number;
    final int protectionDomain;
    final ReceiveQueue receives;

    /** An event is due when fewer receives than this are left; 0 for none. */
    int limit;

    /** The number of queue pairs that receive from it. */
    int users;

    private final SoftContext context;

    SoftSharedReceiveQueue(
            SoftContext context, NativeBlock struct, int number, int protectionDomain, int entries, int segments) {
        this.context = context;
        this.struct = struct;
        this.number = number;
        this.protectionDomain = protectionDomain;
        receives = new ReceiveQueue(entries, segments);
    }

    boolean take(long into) {
        if (!receives.take(into)) {
            return false;
        }
        if (limit > 0 && receives.count() < limit) {
            limit = 0;
            context.asyncEvent(rdma_h.IBV_EVENT_SRQ_LIMIT_REACHED(), struct.address());
        }
        return true;
    }

    /** Frees everything except the C structure, whose address identifies events. */
    void free() {
        receives.free();
    }
}
