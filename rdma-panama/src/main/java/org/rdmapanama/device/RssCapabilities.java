package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_rss_caps;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.queue.QueuePairType;

/**
 * How a device spreads received packets over work queues by a hash of their headers (receive side scaling),
 * {@code struct ibv_rss_caps}; see ibv_query_device_ex(3).
 *
 * @param queuePairTypes the types of queue pairs that support it; empty if the device does not
 * @param maxIndirectionTables maximum number of indirection tables
 * @param maxIndirectionTableSize maximum number of work queues in one indirection table
 * @param hashFields parts of a packet that the hash may cover
 * @param hashFunctions the available hash functions
 */
public record RssCapabilities(
        Set<QueuePairType> queuePairTypes,
        long maxIndirectionTables,
        long maxIndirectionTableSize,
        Set<RxHashField> hashFields,
        Set<RxHashFunction> hashFunctions) {
    /**
     * Checks and copies the capabilities.
     *
     * @throws NullPointerException when a set is null
     */
    public RssCapabilities {
        Objects.requireNonNull(queuePairTypes, "queuePairTypes");
        Objects.requireNonNull(hashFields, "hashFields");
        Objects.requireNonNull(hashFunctions, "hashFunctions");
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

    static RssCapabilities read(MemorySegment caps) {
        return new RssCapabilities(
                QueuePairType.ofMask(ibv_rss_caps.supported_qpts(caps)),
                Integer.toUnsignedLong(ibv_rss_caps.max_rwq_indirection_tables(caps)),
                Integer.toUnsignedLong(ibv_rss_caps.max_rwq_indirection_table_size(caps)),
                Codes.flags(RxHashField.class, RxHashField::code, ibv_rss_caps.rx_hash_fields_mask(caps)),
                Codes.flags(
                        RxHashFunction.class,
                        RxHashFunction::code,
                        Byte.toUnsignedInt(ibv_rss_caps.rx_hash_function(caps))));
    }
}
