package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_tso_caps;

/**
 * How a device cuts long messages into TCP segments, {@code struct ibv_tso_caps}; see ibv_query_device_ex(3).
 *
 * @param maxPayload longest payload that is cut, in bytes; 0 when the device does not do it
 * @param queuePairTypes for which queue pairs; only types that {@link QueuePairType} has
 */
public record TsoCapabilities(long maxPayload, Set<QueuePairType> queuePairTypes) {
    /**
     * What was read of a device.
     *
     * @throws NullPointerException when a set is null
     */
    public TsoCapabilities {
        Objects.requireNonNull(queuePairTypes, "queuePairTypes");
    }

    /**
     * Whether this is there for queue pairs of a type.
     *
     * @param type the type
     * @return true when it is
     * @throws NullPointerException when the type is null
     * @verb ibv_is_qpt_supported
     */
    public boolean supports(QueuePairType type) {
        return queuePairTypes.contains(Objects.requireNonNull(type, "type"));
    }

    static TsoCapabilities read(MemorySegment caps) {
        return new TsoCapabilities(
                Integer.toUnsignedLong(ibv_tso_caps.max_tso(caps)),
                QueuePairType.setOf(ibv_tso_caps.supported_qpts(caps)));
    }
}
