package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/** Transport over which tag matching works, {@code enum ibv_tm_cap_flags}; see {@link TagMatchingCapabilities}. */
public enum TagMatchingTransport {
    /** Reliable connections. */
    RC(rdma_h.IBV_TM_CAP_RC());

    private final int code;

    TagMatchingTransport(int code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
