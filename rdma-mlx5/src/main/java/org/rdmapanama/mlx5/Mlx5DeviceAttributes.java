package org.rdmapanama.mlx5;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.mlx5.mlx5dv_context;
import org.rdmapanama.internal.Codes;

/**
 * The limits and capabilities of a ConnectX device, {@code struct mlx5dv_context}; see mlx5dv_query_device(3). What an older
 * library does not tell is 0, or an empty set.
 *
 * @param capabilities what the device can do; those that this version knows
 * @param compression of completions
 * @param parsing of packets by the program
 * @param striding of receive queues
 * @param tunnelOffloads the tunnels inside which the device computes checksums and spreads packets
 * @param dc the dynamically connected transport
 * @param maxDynamicDoorbells the doorbell registers that thread domains of one open device may have, if the kernel hands them
 *     out one by one; older than Linux 5.10 only
 * @param lagPorts the ports that are bonded; 0 if there is no bond
 */
public record Mlx5DeviceAttributes(
        Set<Mlx5Capability> capabilities,
        CompressionLimits compression,
        ParsingLimits parsing,
        StridingLimits striding,
        Set<TunnelOffload> tunnelOffloads,
        DcLimits dc,
        int maxDynamicDoorbells,
        int lagPorts) {
    /**
     * Copies the sets.
     *
     * @throws NullPointerException when a set or a part of one is null
     */
    public Mlx5DeviceAttributes {
        capabilities = Codes.copyOf(Mlx5Capability.class, capabilities);
        tunnelOffloads = Codes.copyOf(TunnelOffload.class, tunnelOffloads);
    }

    /** Reads what the library has filled in; the other fields must be zero. */
    static Mlx5DeviceAttributes read(MemorySegment struct) {
        return new Mlx5DeviceAttributes(
                Codes.flags(Mlx5Capability.class, Mlx5Capability::code, mlx5dv_context.flags(struct)),
                CompressionLimits.read(mlx5dv_context.cqe_comp_caps(struct)),
                ParsingLimits.read(mlx5dv_context.sw_parsing_caps(struct)),
                StridingLimits.read(mlx5dv_context.striding_rq_caps(struct)),
                Codes.flags(TunnelOffload.class, TunnelOffload::code, mlx5dv_context.tunnel_offloads_caps(struct)),
                DcLimits.read(struct),
                mlx5dv_context.max_dynamic_bfregs(struct),
                Byte.toUnsignedInt(mlx5dv_context.num_lag_ports(struct)));
    }
}
