package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;

/** A shared receive queue. */
final class SoftSharedReceiveQueue {
    /** Of the C structure. */
    final NativeBlock struct;

    final int number;
    final int protectionDomain;
    final ReceiveQueue receives;

    /** Tell when fewer receives are left; 0 not to tell. */
    int limit;

    /** How many queue pairs receive from it. */
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

    void free() {
        receives.free();
        struct.free();
    }
}
