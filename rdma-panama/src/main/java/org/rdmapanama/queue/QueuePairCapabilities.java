package org.rdmapanama.queue;

/**
 * Sizes of a queue pair, {@code struct ibv_qp_cap}; see ibv_create_qp(3).
 *
 * @param maxSendWorkRequests maximum number of outstanding sends
 * @param maxReceiveWorkRequests maximum number of outstanding receives
 * @param maxSendSegments maximum number of segments of one send
 * @param maxReceiveSegments maximum number of segments of one receive
 * @param maxInlineData maximum number of bytes that can be sent inline
 */
public record QueuePairCapabilities(
        int maxSendWorkRequests,
        int maxReceiveWorkRequests,
        int maxSendSegments,
        int maxReceiveSegments,
        int maxInlineData) {}
