package org.rdmapanama.mlx5;

import org.rdmapanama.ffm.mlx5.mlx5dv_h;

/** What a ConnectX device can do, as a flag each; see {@link Mlx5DeviceAttributes#capabilities()}. */
public enum Mlx5Capability {
    /** Completions name their queue pair by an index of the driver's. */
    CQE_VERSION_1(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_CQE_V1()),
    /** One work request can carry several packets of the same size. */
    MULTI_PACKET_SEND(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_MPW_ALLOWED()),
    /** One work request can carry several packets of different sizes. */
    ENHANCED_MULTI_PACKET_SEND(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW()),
    /** The device can compress completions of 128 bytes; see {@link CompressionLimits}. */
    CQE_128_BYTES_COMPRESSION(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP()),
    /** The device can pad completions to 128 bytes; see {@link Mlx5CompletionQueueOptions#padding}. */
    CQE_128_BYTES_PADDING(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD()),
    /** Reliable queue pairs can count credits by packet instead of by message. */
    PACKET_BASED_CREDIT_MODE(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_PACKET_BASED_CREDIT_MODE()),
    /** Timestamps of completions can be times of day. */
    REAL_TIME_TIMESTAMPS(mlx5dv_h.MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS());

    private final int code;

    Mlx5Capability(int code) {
        this.code = code;
    }

    /** {@return the bit of this constant in {@code mlx5dv.h}} */
    public int code() {
        return code;
    }
}
