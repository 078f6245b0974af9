package org.rdmapanama.mlx5;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.mlx5.mlx5dv_striding_rq_caps;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.queue.QueuePairType;

/**
 * Striding receive queues, in which one receive takes several packets, {@code struct mlx5dv_striding_rq_caps}. All numbers
 * are logarithms to base 2, and 0 if the device has no such queues.
 *
 * @param minLogStrideBytes of the smallest stride, in bytes
 * @param maxLogStrideBytes of the largest stride, in bytes
 * @param minLogStrides of the fewest strides of a receive
 * @param maxLogStrides of the most strides of a receive
 * @param queuePairTypes the types of queue pair that can have such queues; none if the device has no such queues
 */
public record StridingLimits(
        int minLogStrideBytes,
        int maxLogStrideBytes,
        int minLogStrides,
        int maxLogStrides,
        Set<QueuePairType> queuePairTypes) {
    /**
     * Copies the types.
     *
     * @throws NullPointerException when the types or one of them are null
     */
    public StridingLimits {
        queuePairTypes = Codes.copyOf(QueuePairType.class, queuePairTypes);
    }

    static StridingLimits read(MemorySegment struct) {
        return new StridingLimits(
                mlx5dv_striding_rq_caps.min_single_stride_log_num_of_bytes(struct),
                mlx5dv_striding_rq_caps.max_single_stride_log_num_of_bytes(struct),
                mlx5dv_striding_rq_caps.min_single_wqe_log_num_of_strides(struct),
                mlx5dv_striding_rq_caps.max_single_wqe_log_num_of_strides(struct),
                QueuePairType.ofMask(mlx5dv_striding_rq_caps.supported_qpts(struct)));
    }
}
