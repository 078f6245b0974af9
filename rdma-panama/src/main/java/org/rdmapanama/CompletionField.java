package org.rdmapanama;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What an {@link ExtendedCompletionQueue} can tell of a completion beyond its identifier, status, opcode and flags,
 * {@code enum ibv_create_cq_wc_flags}; see ibv_create_cq_ex(3). The fewer are asked for, the less a driver has to do.
 */
public enum CompletionField {
    /** How much data came: {@link ExtendedCompletionQueue#byteLength}. */
    BYTE_LEN(rdma_h.IBV_WC_EX_WITH_BYTE_LEN()),
    /**
     * Immediate data or an invalidated key: {@link ExtendedCompletionQueue#immediate} and
     * {@link ExtendedCompletionQueue#invalidatedRkey}.
     */
    IMM(rdma_h.IBV_WC_EX_WITH_IMM()),
    /** The local queue pair: {@link ExtendedCompletionQueue#queuePairNumber}. */
    QP_NUM(rdma_h.IBV_WC_EX_WITH_QP_NUM()),
    /** The queue pair that a datagram came from: {@link ExtendedCompletionQueue#sourceQueuePair}. */
    SRC_QP(rdma_h.IBV_WC_EX_WITH_SRC_QP()),
    /** The local identifier that a datagram came from: {@link ExtendedCompletionQueue#sourceLid}. */
    SLID(rdma_h.IBV_WC_EX_WITH_SLID()),
    /** The service level of a datagram: {@link ExtendedCompletionQueue#serviceLevel}. */
    SL(rdma_h.IBV_WC_EX_WITH_SL()),
    /** The path bits of a datagram: {@link ExtendedCompletionQueue#destinationPathBits}. */
    DLID_PATH_BITS(rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS()),
    /** When it completed, by the clock of the device: {@link ExtendedCompletionQueue#timestamp}. */
    COMPLETION_TIMESTAMP(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP()),
    /** The VLAN tag that was taken off a raw packet: {@link ExtendedCompletionQueue#vlan}. */
    CVLAN(rdma_h.IBV_WC_EX_WITH_CVLAN()),
    /** The tag of the flow rule that steered a packet here: {@link ExtendedCompletionQueue#flowTag}. */
    FLOW_TAG(rdma_h.IBV_WC_EX_WITH_FLOW_TAG()),
    /**
     * What tag matching found: {@link ExtendedCompletionQueue#tag} and
     * {@link ExtendedCompletionQueue#tagPrivateData}.
     */
    TM_INFO(rdma_h.IBV_WC_EX_WITH_TM_INFO()),
    /** When it completed, by the wall clock: {@link ExtendedCompletionQueue#wallClockNanos}. */
    COMPLETION_TIMESTAMP_WALLCLOCK(rdma_h.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK());

    private static final CompletionField[] VALUES = values();

    private final int code;

    CompletionField(int code) {
        this.code = code;
    }

    /**
     * The value in C.
     *
     * @return the constant's number in {@code verbs.h}
     */
    public int code() {
        return code;
    }

    /** An unmodifiable copy, in the order in which the fields are declared. */
    static Set<CompletionField> copyOf(Collection<CompletionField> fields) {
        Set<CompletionField> copy = EnumSet.noneOf(CompletionField.class);
        copy.addAll(fields);
        return Collections.unmodifiableSet(copy);
    }

    /** The set of fields as C takes it. */
    static int mask(Collection<CompletionField> fields) {
        int mask = 0;
        for (CompletionField field : fields) {
            mask |= field.code;
        }
        return mask;
    }

    /** The fields of a set as C gives it. */
    static Set<CompletionField> of(int mask) {
        Set<CompletionField> fields = EnumSet.noneOf(CompletionField.class);
        for (CompletionField field : VALUES) {
            if ((mask & field.code) != 0) {
                fields.add(field);
            }
        }
        return fields;
    }
}
