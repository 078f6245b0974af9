package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_packet_pacing_caps;
import org.rdmapanama.queue.QueuePairType;

/**
 * How a device limits the rate of a queue pair, {@code struct ibv_packet_pacing_caps}; see ibv_query_device_ex(3).
 *
 * @param minRate lowest limit, in kilobits a second
 * @param maxRate highest limit, in kilobits a second; 0 if the device does not support it
 * @param queuePairTypes for which queue pairs; only types that {@link QueuePairType} has
 */
public record PacketPacingCapabilities(long minRate, long maxRate, Set<QueuePairType> queuePairTypes) {
    /**
     * Checks and copies the capabilities.
     *
     * @throws NullPointerException when a set is null
     */
    public PacketPacingCapabilities {
        Objects.requireNonNull(queuePairTypes, "queuePairTypes");
    }

    /**
     * Returns whether queue pairs of a type support this.
     *
     * @param type the type
     * @return true if so
     * @throws NullPointerException when the type is null
     * @verb ibv_is_qpt_supported
     */
    public boolean supports(QueuePairType type) {
        return queuePairTypes.contains(Objects.requireNonNull(type, "type"));
    }

    static PacketPacingCapabilities read(MemorySegment caps) {
        return new PacketPacingCapabilities(
                Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_min(caps)),
                Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_max(caps)),
                QueuePairType.ofMask(ibv_packet_pacing_caps.supported_qpts(caps)));
    }
}
