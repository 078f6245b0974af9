package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;

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
        int maxInlineData) {

    static QueuePairCapabilities read(MemorySegment cap) {
        return new QueuePairCapabilities(
                ibv_qp_cap.max_send_wr(cap),
                ibv_qp_cap.max_recv_wr(cap),
                ibv_qp_cap.max_send_sge(cap),
                ibv_qp_cap.max_recv_sge(cap),
                ibv_qp_cap.max_inline_data(cap));
    }

    void write(MemorySegment cap) {
        ibv_qp_cap.max_send_wr(cap, maxSendWorkRequests);
        ibv_qp_cap.max_recv_wr(cap, maxReceiveWorkRequests);
        ibv_qp_cap.max_send_sge(cap, maxSendSegments);
        ibv_qp_cap.max_recv_sge(cap, maxReceiveSegments);
        ibv_qp_cap.max_inline_data(cap, maxInlineData);
    }
}
