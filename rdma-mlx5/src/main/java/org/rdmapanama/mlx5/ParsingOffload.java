package org.rdmapanama.mlx5;

import org.rdmapanama.ffm.mlx5.mlx5dv_h;

/** What a device does with packets whose headers the program describes; see {@link ParsingLimits}. */
public enum ParsingOffload {
    /** It takes such descriptions. */
    PARSING(mlx5dv_h.MLX5DV_SW_PARSING()),
    /** It computes checksums of such packets. */
    CHECKSUM(mlx5dv_h.MLX5DV_SW_PARSING_CSUM()),
    /** It cuts large sends into such packets. */
    SEGMENTATION(mlx5dv_h.MLX5DV_SW_PARSING_LSO());

    private final int code;

    ParsingOffload(int code) {
        this.code = code;
    }

    /** {@return the bit of this constant in {@code mlx5dv.h}} */
    public int code() {
        return code;
    }
}
