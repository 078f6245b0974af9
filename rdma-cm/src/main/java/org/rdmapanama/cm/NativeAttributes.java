package org.rdmapanama.cm;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.internal.provider.NativeModify;
import org.rdmapanama.queue.QueuePairAttribute;

/**
 * Attributes of a queue pair as the connection manager wrote them. They stay native, because each connection needs six or
 * more sets of them, and turning one into a {@link org.rdmapanama.queue.QueuePairAttributes} and back took longer than the
 * call.
 *
 * @param struct a struct ibv_qp_attr
 * @param mask which of its fields count, as in enum ibv_qp_attr_mask
 */
record NativeAttributes(MemorySegment struct, int mask) {
    int maxReadAtomicAsInitiator() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(struct));
    }

    NativeAttributes maxReadAtomicAsInitiator(int value) {
        ibv_qp_attr.max_rd_atomic(struct, (byte) value);
        return with(QueuePairAttribute.MAX_QP_RD_ATOMIC);
    }

    int maxReadAtomicAsTarget() {
        return Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(struct));
    }

    NativeAttributes maxReadAtomicAsTarget(int value) {
        ibv_qp_attr.max_dest_rd_atomic(struct, (byte) value);
        return with(QueuePairAttribute.MAX_DEST_RD_ATOMIC);
    }

    /** Lowers the number of retransmissions, if the transport of the queue pair has any. */
    NativeAttributes retryAtMost(int value) {
        if ((mask & QueuePairAttribute.RETRY_CNT.code()) != 0) {
            ibv_qp_attr.retry_cnt(struct, (byte) Math.min(value, Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(struct))));
        }
        return this;
    }

    /** Takes the access flags of others. */
    NativeAttributes accessFlagsOf(NativeAttributes others) {
        ibv_qp_attr.qp_access_flags(struct, ibv_qp_attr.qp_access_flags(others.struct));
        return with(QueuePairAttribute.ACCESS_FLAGS);
    }

    private NativeAttributes with(QueuePairAttribute attribute) {
        return new NativeAttributes(struct, mask | attribute.code());
    }

    /** Moves a queue pair to the state that they name. */
    void applyTo(QueuePair queuePair) {
        NativeModify.modify(queuePair, struct, mask);
    }
}
