package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_tso_caps;
import org.rdmapanama.queue.QueuePairType;

/**
 * How a device cuts long messages into TCP segments, {@code struct ibv_tso_caps}; see ibv_query_device_ex(3).
 *
 * @param maxPayload maximum size of the payload, in bytes; 0 if the device does not support it
 * @param queuePairTypes for which queue pairs; only types that {@link QueuePairType} has
 */
public record TsoCapabilities(long maxPayload, Set<QueuePairType> queuePairTypes) {
    /**
     * Checks and copies the capabilities.
     *
     * @throws NullPointerException when a set is null
     */
    public TsoCapabilities {
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

    static TsoCapabilities read(MemorySegment caps) {
        return new TsoCapabilities(
                Integer.toUnsignedLong(ibv_tso_caps.max_tso(caps)),
                QueuePairType.ofMask(ibv_tso_caps.supported_qpts(caps)));
    }
}
