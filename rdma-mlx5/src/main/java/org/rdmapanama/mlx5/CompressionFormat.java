package org.rdmapanama.mlx5;

import org.rdmapanama.ffm.mlx5.mlx5dv_h;

/** What a compressed completion of a receive tells besides its length; see {@link CompressionLimits}. */
public enum CompressionFormat {
    /** The hash of the packet's header. */
    HASH(mlx5dv_h.MLX5DV_CQE_RES_FORMAT_HASH()),
    /** The checksum of the packet. */
    CHECKSUM(mlx5dv_h.MLX5DV_CQE_RES_FORMAT_CSUM()),
    /** The checksum, and the stride of a striding receive queue. */
    CHECKSUM_AND_STRIDE(mlx5dv_h.MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX());

    private final int code;

    CompressionFormat(int code) {
        this.code = code;
    }

    /** {@return the bit of this constant in {@code mlx5dv.h}} */
    public int code() {
        return code;
    }
}
