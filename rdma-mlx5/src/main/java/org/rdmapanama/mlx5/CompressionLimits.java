package org.rdmapanama.mlx5;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.mlx5.mlx5dv_cqe_comp_caps;
import org.rdmapanama.internal.Codes;

/**
 * How a device can compress completions, {@code struct mlx5dv_cqe_comp_caps}: several into one entry of the ring. It does so
 * only for programs that read the ring themselves. libmlx5 cannot read compressed completions, in any version so far, so
 * no queue here has them.
 *
 * @param maxCompletions that one entry stands for; 0 if the device cannot
 * @param formats what the device can put into them
 */
public record CompressionLimits(int maxCompletions, Set<CompressionFormat> formats) {
    /**
     * Copies the formats.
     *
     * @throws NullPointerException when the formats or one of them are null
     */
    public CompressionLimits {
        formats = Codes.copyOf(CompressionFormat.class, formats);
    }

    static CompressionLimits read(MemorySegment struct) {
        return new CompressionLimits(
                mlx5dv_cqe_comp_caps.max_num(struct),
                Codes.flags(
                        CompressionFormat.class,
                        CompressionFormat::code,
                        mlx5dv_cqe_comp_caps.supported_format(struct)));
    }
}
