package org.rdmapanama.device;

import org.rdmapanama.ffm.verbs.rdma_h;

/** What a device can do, {@code enum ibv_device_cap_flags} and the 64-bit constants beside it; see
 * {@link DeviceAttributes#capabilities()} and ibv_query_device_ex(3). */
public enum DeviceCapability {
    /** The sizes of a queue pair can be changed after its creation. */
    RESIZE_MAX_WR(rdma_h.IBV_DEVICE_RESIZE_MAX_WR()),
    /** Ports count packets with a wrong P_Key. */
    BAD_PKEY_CNTR(rdma_h.IBV_DEVICE_BAD_PKEY_CNTR()),
    /** Ports count packets with a wrong Q_Key. */
    BAD_QKEY_CNTR(rdma_h.IBV_DEVICE_BAD_QKEY_CNTR()),
    /** Raw packets can go to multicast groups. */
    RAW_MULTI(rdma_h.IBV_DEVICE_RAW_MULTI()),
    /** Connections can move to their alternate path by themselves. */
    AUTO_PATH_MIG(rdma_h.IBV_DEVICE_AUTO_PATH_MIG()),
    /** The port of a connection can be changed when it moves to another path. */
    CHANGE_PHY_PORT(rdma_h.IBV_DEVICE_CHANGE_PHY_PORT()),
    /** The port of an address handle must be that of the datagram queue pair. */
    UD_AV_PORT_ENFORCE(rdma_h.IBV_DEVICE_UD_AV_PORT_ENFORCE()),
    /** A modification of a queue pair may state the current state that it assumes. */
    CURR_QP_STATE_MOD(rdma_h.IBV_DEVICE_CURR_QP_STATE_MOD()),
    /** A port can be shut down. */
    SHUTDOWN_PORT(rdma_h.IBV_DEVICE_SHUTDOWN_PORT()),
    /** The subnet manager can be told how to initialize a port; no driver uses it. */
    INIT_TYPE(rdma_h.IBV_DEVICE_INIT_TYPE()),
    /** There is an event when a port becomes active. */
    PORT_ACTIVE_EVENT(rdma_h.IBV_DEVICE_PORT_ACTIVE_EVENT()),
    /** The device has a system image GUID. */
    SYS_IMAGE_GUID(rdma_h.IBV_DEVICE_SYS_IMAGE_GUID()),
    /** Reliable connections answer when no receive is posted, so that the sender tries again. */
    RC_RNR_NAK_GEN(rdma_h.IBV_DEVICE_RC_RNR_NAK_GEN()),
    /** A shared receive queue can be made larger or smaller. */
    SRQ_RESIZE(rdma_h.IBV_DEVICE_SRQ_RESIZE()),
    /** A completion queue can raise an event after a number of completions. */
    N_NOTIFY_CQ(rdma_h.IBV_DEVICE_N_NOTIFY_CQ()),
    /** Memory windows of type 1. */
    MEM_WINDOW(rdma_h.IBV_DEVICE_MEM_WINDOW()),
    /** Checksums of IP are computed and checked on datagram queue pairs (IP over InfiniBand). */
    UD_IP_CSUM(rdma_h.IBV_DEVICE_UD_IP_CSUM()),
    /** Extended reliable connections. */
    XRC(rdma_h.IBV_DEVICE_XRC()),
    /** Memory can be registered and invalidated by work requests: send with invalidate, local invalidate. */
    MEM_MGT_EXTENSIONS(rdma_h.IBV_DEVICE_MEM_MGT_EXTENSIONS()),
    /** Memory windows of type 2A: bound to a queue pair number and key. */
    MEM_WINDOW_TYPE_2A(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2A()),
    /** Memory windows of type 2B: bound to a queue pair, number, key and protection domain. */
    MEM_WINDOW_TYPE_2B(rdma_h.IBV_DEVICE_MEM_WINDOW_TYPE_2B()),
    /** Checksums of IP are computed and checked on reliable connections. */
    RC_IP_CSUM(rdma_h.IBV_DEVICE_RC_IP_CSUM()),
    /** Checksums of IP are computed and checked on raw packet queue pairs. */
    RAW_IP_CSUM(rdma_h.IBV_DEVICE_RAW_IP_CSUM()),
    /** Flow rules choose the queue that a packet goes to. */
    MANAGED_FLOW_STEERING(rdma_h.IBV_DEVICE_MANAGED_FLOW_STEERING()),
    /** Raw packets are received with their frame check sequence. */
    RAW_SCATTER_FCS(rdma_h.IBV_DEVICE_RAW_SCATTER_FCS()),
    /** The device can pad its writes to a full cache line. */
    PCI_WRITE_END_PADDING(rdma_h.IBV_DEVICE_PCI_WRITE_END_PADDING()),
    /** Peers may flush memory to global visibility. */
    FLUSH_GLOBAL(1L << 38),
    /** Peers may flush memory to persistence. */
    FLUSH_PERSISTENT(1L << 39),
    /** Atomic writes of eight bytes. */
    ATOMIC_WRITE(1L << 40);

    private final long code;

    DeviceCapability(long code) {
        this.code = code;
    }

    /** {@return the value of this constant in {@code verbs.h}} */
    public long code() {
        return code;
    }
}
