package org.rdmapanama;

import java.util.Collection;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What is done with packets of IPsec, {@code enum ibv_flow_action_esp_flags}. Without any: the cipher alone, in tunnel
 * mode, for decrypting.
 */
public enum EspFlag {
    /** The device puts on and takes off the whole header, not only the cipher. */
    FULL_OFFLOAD(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD()),
    /** Transport mode instead of tunnel mode. */
    TRANSPORT(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_TRANSPORT()),
    /** Encrypt instead of decrypt. */
    ENCRYPT(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_ENCRYPT()),
    /** The upper half of the sequence number belongs to a new window. */
    ESN_NEW_WINDOW(rdma_h.IBV_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW());

    private final int code;

    EspFlag(int code) {
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

    /** The set of flags as C takes it. */
    static int mask(Collection<EspFlag> flags) {
        int mask = 0;
        for (EspFlag flag : flags) {
            mask |= flag.code;
        }
        return mask;
    }
}
