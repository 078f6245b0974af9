package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;

/**
 * Sizes and limit of a shared receive queue, {@code struct ibv_srq_attr}; see ibv_query_srq(3).
 *
 * @param maxWorkRequests maximum number of outstanding receives
 * @param maxSegments maximum number of segments of one receive
 * @param limit the number of receives below which {@link AsyncEventType#SRQ_LIMIT_REACHED} is raised, or 0 if it is not
 *     armed
 */
public record SharedReceiveQueueAttributes(int maxWorkRequests, int maxSegments, int limit) {
    static SharedReceiveQueueAttributes read(MemorySegment attributes) {
        return new SharedReceiveQueueAttributes(
                ibv_srq_attr.max_wr(attributes), ibv_srq_attr.max_sge(attributes), ibv_srq_attr.srq_limit(attributes));
    }
}
