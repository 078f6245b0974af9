package org.rdmapanama.queue;

import org.rdmapanama.event.AsyncEventType;

/**
 * Sizes and limit of a shared receive queue, {@code struct ibv_srq_attr}; see ibv_query_srq(3).
 *
 * @param maxWorkRequests maximum number of outstanding receives
 * @param maxSegments maximum number of segments of one receive
 * @param limit the number of receives below which {@link AsyncEventType#SRQ_LIMIT_REACHED} is raised, or 0 if it is not
 *     armed
 */
public record SharedReceiveQueueAttributes(int maxWorkRequests, int maxSegments, int limit) {}
