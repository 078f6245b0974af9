package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.verbs.ibv_cq_moderation_caps;

/**
 * How far a completion queue can delay its events, {@code struct ibv_cq_moderation_caps}; see ibv_query_device_ex(3).
 * Both are 0 if the device does not support it.
 *
 * @param maxCount maximum number of completions before an event, 0 to 65535
 * @param maxPeriodMicros maximum number of microseconds before an event, 0 to 65535
 */
public record CompletionQueueModerationCapabilities(int maxCount, int maxPeriodMicros) {

    static CompletionQueueModerationCapabilities read(MemorySegment caps) {
        return new CompletionQueueModerationCapabilities(
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)));
    }
}
