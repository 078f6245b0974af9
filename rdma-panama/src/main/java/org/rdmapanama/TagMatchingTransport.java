package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Transport over which tag matching works, {@code enum ibv_tm_cap_flags}; see {@link TagMatchingCapabilities}. */
public enum TagMatchingTransport {
    /** Reliable connections. */
    RC(rdma_h.IBV_TM_CAP_RC());

    private static final TagMatchingTransport[] VALUES = values();

    private final int code;

    TagMatchingTransport(int code) {
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

    /** The flags of a set as C gives it, unmodifiable; bits that have no constant are left out. */
    static Set<TagMatchingTransport> of(int mask) {
        Set<TagMatchingTransport> flags = EnumSet.noneOf(TagMatchingTransport.class);
        for (TagMatchingTransport flag : VALUES) {
            if ((mask & flag.code) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
