package org.rdmapanama.efa;

import org.rdmapanama.ffm.efa.efadv_h;

/** What an EFA device can do beyond sending and receiving; see {@link EfaDeviceAttributes#capabilities()}. */
public enum EfaCapability {
    /** SRD queue pairs can read the memory of their peers. */
    RDMA_READ(efadv_h.EFADV_DEVICE_ATTR_CAPS_RDMA_READ()),
    /** A send can be repeated when the receiver has no receive posted. */
    RNR_RETRY(efadv_h.EFADV_DEVICE_ATTR_CAPS_RNR_RETRY()),
    /** Completion queues can tell the GID of an unknown sender; see {@link EfaDevice#sourceGid}. */
    CQ_WITH_SGID(efadv_h.EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID()),
    /** SRD queue pairs can write to the memory of their peers; rdma-core tells since version 46. */
    RDMA_WRITE(efadv_h.EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE()),
    /** RDMA writes with immediate data need no posted receive; rdma-core tells since version 52. */
    UNSOLICITED_WRITE_RECV(efadv_h.EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV());

    private final int code;

    EfaCapability(int code) {
        this.code = code;
    }

    /** {@return the bit of this constant in {@code efadv.h}} */
    public int code() {
        return code;
    }
}
