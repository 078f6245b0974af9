package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_tm_caps;

/**
 * How a device matches messages with buffers by tag, {@code struct ibv_tm_caps}; see ibv_query_device_ex(3).
 *
 * @param maxTags tagged buffers in the list of one shared receive queue at most; 0 when the device does not do it
 * @param maxRendezvousHeaderSize longest header of a rendezvous request, in bytes
 * @param transports over which it works
 * @param maxOperations operations on the list outstanding at most
 * @param maxSegments segments of one tagged buffer at most
 */
public record TagMatchingCapabilities(
        long maxTags,
        long maxRendezvousHeaderSize,
        Set<TagMatchingTransport> transports,
        long maxOperations,
        long maxSegments) {
    /**
     * What was read of a device.
     *
     * @throws NullPointerException when a set is null
     */
    public TagMatchingCapabilities {
        Objects.requireNonNull(transports, "transports");
    }

    static TagMatchingCapabilities read(MemorySegment caps) {
        return new TagMatchingCapabilities(
                Integer.toUnsignedLong(ibv_tm_caps.max_num_tags(caps)),
                Integer.toUnsignedLong(ibv_tm_caps.max_rndv_hdr_size(caps)),
                TagMatchingTransport.of(ibv_tm_caps.flags(caps)),
                Integer.toUnsignedLong(ibv_tm_caps.max_ops(caps)),
                Integer.toUnsignedLong(ibv_tm_caps.max_sge(caps)));
    }
}
