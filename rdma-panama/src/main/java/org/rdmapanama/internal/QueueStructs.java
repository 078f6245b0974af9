package org.rdmapanama.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.device.RxHashField;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_rx_hash_conf;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RxHash;
import org.rdmapanama.queue.SharedReceiveQueueAttributes;

/** Reads and writes the attributes of queues in C structures. */
public final class QueueStructs {
    private QueueStructs() {}

    /** Reads a {@code struct ibv_qp_cap}. */
    public static QueuePairCapabilities readCapabilities(MemorySegment cap) {
        return new QueuePairCapabilities(
                ibv_qp_cap.max_send_wr(cap),
                ibv_qp_cap.max_recv_wr(cap),
                ibv_qp_cap.max_send_sge(cap),
                ibv_qp_cap.max_recv_sge(cap),
                ibv_qp_cap.max_inline_data(cap));
    }

    /** Writes a {@code struct ibv_qp_cap}. */
    public static void writeCapabilities(QueuePairCapabilities capabilities, MemorySegment cap) {
        ibv_qp_cap.max_send_wr(cap, capabilities.maxSendWorkRequests());
        ibv_qp_cap.max_recv_wr(cap, capabilities.maxReceiveWorkRequests());
        ibv_qp_cap.max_send_sge(cap, capabilities.maxSendSegments());
        ibv_qp_cap.max_recv_sge(cap, capabilities.maxReceiveSegments());
        ibv_qp_cap.max_inline_data(cap, capabilities.maxInlineData());
    }

    /** Reads what {@code ibv_query_qp} has written to a {@code struct ibv_qp_init_attr}. */
    public static QueuePairInitialAttributes readInitialAttributes(MemorySegment struct) {
        return new QueuePairInitialAttributes(
                QueuePairType.of(ibv_qp_init_attr.qp_type(struct)),
                readCapabilities(ibv_qp_init_attr.cap(struct)),
                ibv_qp_init_attr.sq_sig_all(struct) != 0);
    }

    /** Writes a zeroed {@code struct ibv_qp_attr}. What reads one is {@link QueuePairAttributes#ofNative}. */
    public static void writeAttributes(QueuePairAttributes attributes, MemorySegment struct) {
        ibv_qp_attr.qp_state(struct, attributes.state().code());
        ibv_qp_attr.cur_qp_state(struct, attributes.currentState().code());
        if (attributes.pathMtu() != null) {
            ibv_qp_attr.path_mtu(struct, attributes.pathMtu().code());
        }
        ibv_qp_attr.qkey(struct, attributes.qkey());
        ibv_qp_attr.rq_psn(struct, attributes.receivePsn());
        ibv_qp_attr.sq_psn(struct, attributes.sendPsn());
        ibv_qp_attr.dest_qp_num(struct, attributes.destinationQueuePair());
        ibv_qp_attr.qp_access_flags(struct, Codes.mask(attributes.accessFlags(), AccessFlag::code));
        if (attributes.addressVector() != null) {
            AddressStructs.writeVector(attributes.addressVector(), ibv_qp_attr.ah_attr(struct));
        }
        AddressVector alternatePath = attributes.alternatePath();
        if (alternatePath != null) {
            AddressStructs.writeVector(alternatePath, ibv_qp_attr.alt_ah_attr(struct));
            ibv_qp_attr.alt_port_num(struct, (byte) alternatePath.port());
            ibv_qp_attr.alt_pkey_index(struct, (short) attributes.alternatePkeyIndex());
            ibv_qp_attr.alt_timeout(struct, (byte) attributes.alternateTimeout());
        }
        ibv_qp_attr.pkey_index(struct, (short) attributes.pkeyIndex());
        ibv_qp_attr.en_sqd_async_notify(struct, (byte) (attributes.notifyWhenDrained() ? 1 : 0));
        ibv_qp_attr.max_rd_atomic(struct, (byte) attributes.maxReadAtomicAsInitiator());
        ibv_qp_attr.max_dest_rd_atomic(struct, (byte) attributes.maxReadAtomicAsTarget());
        ibv_qp_attr.min_rnr_timer(struct, (byte) attributes.minRnrTimer());
        ibv_qp_attr.port_num(struct, (byte) attributes.port());
        ibv_qp_attr.timeout(struct, (byte) attributes.timeout());
        ibv_qp_attr.retry_cnt(struct, (byte) attributes.retryCount());
        ibv_qp_attr.rnr_retry(struct, (byte) attributes.rnrRetry());
        ibv_qp_attr.rate_limit(struct, attributes.rateLimit());
        ibv_qp_attr.path_mig_state(struct, attributes.pathMigrationState().code());
        if (attributes.capabilities() != null) {
            writeCapabilities(attributes.capabilities(), ibv_qp_attr.cap(struct));
        }
    }

    /** Reads a {@code struct ibv_srq_attr}. */
    public static SharedReceiveQueueAttributes readSharedReceiveQueue(MemorySegment attributes) {
        return new SharedReceiveQueueAttributes(
                ibv_srq_attr.max_wr(attributes), ibv_srq_attr.max_sge(attributes), ibv_srq_attr.srq_limit(attributes));
    }

    /**
     * Writes a {@code struct ibv_rx_hash_conf}.
     *
     * @param keys the arena for the key, which must live until the verb has been called
     */
    public static void writeRxHash(RxHash hash, MemorySegment struct, Arena keys) {
        byte[] key = hash.key();
        ibv_rx_hash_conf.rx_hash_function(struct, (byte) hash.function().code());
        ibv_rx_hash_conf.rx_hash_key_len(struct, (byte) key.length);
        ibv_rx_hash_conf.rx_hash_key(struct, keys.allocateFrom(JAVA_BYTE, key));
        ibv_rx_hash_conf.rx_hash_fields_mask(struct, Codes.longMask(hash.fields(), RxHashField::code));
    }
}
