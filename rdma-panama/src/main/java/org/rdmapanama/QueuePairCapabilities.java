package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;

/**
 * Sizes of a queue pair, {@code struct ibv_qp_cap}; see ibv_create_qp(3).
 *
 * @param maxSendWorkRequests sends outstanding at most
 * @param maxReceiveWorkRequests receives outstanding at most
 * @param maxSendSegments segments of one send at most
 * @param maxReceiveSegments segments of one receive at most
 * @param maxInlineData bytes that can be sent inline at most
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
