package org.rdmapanama.completion;

import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** A flag of a completion, {@code enum ibv_wc_flags}; see ibv_poll_cq(3). */
public enum CompletionFlag {
    /** A global routing header lies in the first 40 bytes of a received datagram. */
    GRH(rdma_h.IBV_WC_GRH()),
    /** Immediate data arrived. */
    WITH_IMM(rdma_h.IBV_WC_WITH_IMM()),
    /** The device verified the checksums of a received IPv4 packet, in its header and in TCP or UDP. */
    IP_CSUM_OK(rdma_h.IBV_WC_IP_CSUM_OK()),
    /** A send with invalidation arrived, and a key of this side is now invalid. */
    WITH_INV(rdma_h.IBV_WC_WITH_INV()),
    /** Tag matching: the list of tags must be synchronized with the device. */
    TM_SYNC_REQ(rdma_h.IBV_WC_TM_SYNC_REQ()),
    /** Tag matching: a tag of the list matched. */
    TM_MATCH(rdma_h.IBV_WC_TM_MATCH()),
    /** Tag matching: all data of the message has arrived. */
    TM_DATA_VALID(rdma_h.IBV_WC_TM_DATA_VALID());

    private static final CompletionFlag[] VALUES = values();

    private final int code;

    CompletionFlag(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }

    /** Returns the flags in a C bit mask. */
    static Set<CompletionFlag> of(int mask) {
        Set<CompletionFlag> flags = EnumSet.noneOf(CompletionFlag.class);
        for (CompletionFlag flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return flags;
    }
}
