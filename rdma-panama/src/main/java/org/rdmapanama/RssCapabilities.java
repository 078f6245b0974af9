package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_rss_caps;

/**
 * How a device spreads received packets over work queues by a hash of their headers (receive side scaling),
 * {@code struct ibv_rss_caps}; see ibv_query_device_ex(3).
 *
 * @param queuePairTypes for which queue pairs; empty when the device does not do it
 * @param maxIndirectionTables indirection tables at most
 * @param maxIndirectionTableSize work queues in one indirection table at most
 * @param hashFields parts of a packet that the hash may cover
 * @param hashFunctions hashes to choose from
 */
public record RssCapabilities(
        Set<QueuePairType> queuePairTypes,
        long maxIndirectionTables,
        long maxIndirectionTableSize,
        Set<RxHashField> hashFields,
        Set<RxHashFunction> hashFunctions) {
    /**
     * What was read of a device.
     *
     * @throws NullPointerException when a set is null
     */
    public RssCapabilities {
        Objects.requireNonNull(queuePairTypes, "queuePairTypes");
        Objects.requireNonNull(hashFields, "hashFields");
        Objects.requireNonNull(hashFunctions, "hashFunctions");
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

    static RssCapabilities read(MemorySegment caps) {
        return new RssCapabilities(
                QueuePairType.setOf(ibv_rss_caps.supported_qpts(caps)),
                Integer.toUnsignedLong(ibv_rss_caps.max_rwq_indirection_tables(caps)),
                Integer.toUnsignedLong(ibv_rss_caps.max_rwq_indirection_table_size(caps)),
                RxHashField.ofMask(ibv_rss_caps.rx_hash_fields_mask(caps)),
                RxHashFunction.ofMask(Byte.toUnsignedInt(ibv_rss_caps.rx_hash_function(caps))));
    }
}
