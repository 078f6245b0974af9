package org.rdmapanama.mlx5;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.mlx5.mlx5dv_sw_parsing_caps;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.queue.QueuePairType;

/**
 * Parsing of packets by the program, {@code struct mlx5dv_sw_parsing_caps}.
 *
 * @param offloads what the device does with such packets; none if it takes no descriptions of headers
 * @param queuePairTypes the types of queue pair that have it
 */
public record ParsingLimits(Set<ParsingOffload> offloads, Set<QueuePairType> queuePairTypes) {
    /**
     * Copies the sets.
     *
     * @throws NullPointerException when a set or a part of one is null
     */
    public ParsingLimits {
        offloads = Codes.copyOf(ParsingOffload.class, offloads);
        queuePairTypes = Codes.copyOf(QueuePairType.class, queuePairTypes);
    }

    static ParsingLimits read(MemorySegment struct) {
        return new ParsingLimits(
                Codes.flags(
                        ParsingOffload.class, ParsingOffload::code, mlx5dv_sw_parsing_caps.sw_parsing_offloads(struct)),
                QueuePairType.ofMask(mlx5dv_sw_parsing_caps.supported_qpts(struct)));
    }
}
