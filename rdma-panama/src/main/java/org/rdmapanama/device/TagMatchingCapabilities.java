package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_tm_caps;
import org.rdmapanama.internal.Codes;

/**
 * How a device matches messages with buffers by tag, {@code struct ibv_tm_caps}; see ibv_query_device_ex(3).
 *
 * @param maxTags maximum number of tagged buffers in the list of one shared receive queue; 0 if the device does not
 *     support it
 * @param maxRendezvousHeaderSize maximum size of the header of a rendezvous request, in bytes
 * @param transports the transports over which it works
 * @param maxOperations maximum number of outstanding operations on the list
 * @param maxSegments maximum number of segments of one tagged buffer
 */
public record TagMatchingCapabilities(
        long maxTags,
        long maxRendezvousHeaderSize,
        Set<TagMatchingTransport> transports,
        long maxOperations,
        long maxSegments) {
    /**
     * Checks and copies the capabilities.
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
                Codes.flags(TagMatchingTransport.class, TagMatchingTransport::code, ibv_tm_caps.flags(caps)),
                Integer.toUnsignedLong(ibv_tm_caps.max_ops(caps)),
                Integer.toUnsignedLong(ibv_tm_caps.max_sge(caps)));
    }
}
