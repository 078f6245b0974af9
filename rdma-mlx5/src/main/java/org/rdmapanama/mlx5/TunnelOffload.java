package org.rdmapanama.mlx5;

import org.rdmapanama.ffm.mlx5.mlx5dv_h;

/** A tunnel inside which a device computes checksums and spreads packets; see {@link Mlx5DeviceAttributes}. */
public enum TunnelOffload {
    /** VXLAN. */
    VXLAN(mlx5dv_h.MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_VXLAN()),
    /** GRE. */
    GRE(mlx5dv_h.MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_GRE()),
    /** GENEVE. */
    GENEVE(mlx5dv_h.MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_GENEVE()),
    /** MPLS over GRE, with a control word. */
    MPLS_OVER_GRE(mlx5dv_h.MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_CW_MPLS_OVER_GRE()),
    /** MPLS over UDP, with a control word. */
    MPLS_OVER_UDP(mlx5dv_h.MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_CW_MPLS_OVER_UDP());

    private final int code;

    TunnelOffload(int code) {
        this.code = code;
    }

    /** {@return the bit of this constant in {@code mlx5dv.h}} */
    public int code() {
        return code;
    }
}
