package org.rdmapanama.mlx5;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.mlx5.mlx5dv_context;
import org.rdmapanama.ffm.mlx5.mlx5dv_dci_streams_caps;

/**
 * Limits of the dynamically connected transport.
 *
 * @param maxReadAtomicAsTarget the RDMA reads and atomics that a target answers at a time; 0 if the library does not tell
 * @param maxReadAtomicAsInitiator the RDMA reads and atomics that an initiator has outstanding; 0 if the library does not
 *     tell
 * @param maxLogStreams the logarithm to base 2 of the streams of an initiator; 0 if it has one
 * @param maxLogErroredStreams the logarithm to base 2 of the streams that may fail before the initiator does
 */
public record DcLimits(
        long maxReadAtomicAsTarget, long maxReadAtomicAsInitiator, int maxLogStreams, int maxLogErroredStreams) {
    static DcLimits read(MemorySegment struct) {
        MemorySegment streams = mlx5dv_context.dci_streams_caps(struct);
        return new DcLimits(
                mlx5dv_context.max_dc_rd_atom(struct),
                mlx5dv_context.max_dc_init_rd_atom(struct),
                Byte.toUnsignedInt(mlx5dv_dci_streams_caps.max_log_num_concurent(streams)),
                Byte.toUnsignedInt(mlx5dv_dci_streams_caps.max_log_num_errored(streams)));
    }
}
