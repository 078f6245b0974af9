package org.rdmapanama.flow;

import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * Options for IPsec packets, {@code enum ibv_flow_action_esp_flags}. Without flags the device only decrypts, in tunnel
 * mode, and leaves the headers alone.
 */
public enum EspFlag {
    /** The device adds and removes the whole header, instead of only encrypting or decrypting. */
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

    /** {@return the value of this constant in {@code verbs.h}} */
    public int code() {
        return code;
    }
}
