package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_cq_moderation_caps;

/**
 * How far a completion queue can hold back its events, {@code struct ibv_cq_moderation_caps}; see
 * ibv_query_device_ex(3). Both are 0 when the device does not do it.
 *
 * @param maxCount completions before an event at most, 0 to 65535
 * @param maxPeriodMicros microseconds before an event at most, 0 to 65535
 */
public record CompletionQueueModerationCapabilities(int maxCount, int maxPeriodMicros) {

    static CompletionQueueModerationCapabilities read(MemorySegment caps) {
        return new CompletionQueueModerationCapabilities(
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)));
    }
}
