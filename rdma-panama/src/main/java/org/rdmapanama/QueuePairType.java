package org.rdmapanama;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.rdmapanama.ffm.verbs.rdma_h;

/** Transport service of a queue pair, {@code enum ibv_qp_type}; see ibv_create_qp(3). */
public enum QueuePairType {
    /** Reliable connected: acknowledged, in order, one peer; every operation. */
    RC(rdma_h.IBV_QPT_RC()),
    /** Unreliable connected: one peer, no acknowledgement; send and RDMA write. */
    UC(rdma_h.IBV_QPT_UC()),
    /** Unreliable datagram: any peer, one packet a message; send. */
    UD(rdma_h.IBV_QPT_UD()),
    /** Raw Ethernet frames. */
    RAW_PACKET(rdma_h.IBV_QPT_RAW_PACKET()),
    /** Extended reliable connected, sending side. */
    XRC_SEND(rdma_h.IBV_QPT_XRC_SEND()),
    /** Extended reliable connected, receiving side. */
    XRC_RECV(rdma_h.IBV_QPT_XRC_RECV()),
    /** What a driver defines beyond these, such as EFA's SRD. */
    DRIVER(rdma_h.IBV_QPT_DRIVER());

    private static final QueuePairType[] VALUES = values();

    private final int code;

    QueuePairType(int code) {
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

    /** The types of a set of bits as {@code ibv_is_qpt_supported} reads it; DRIVER has no bit. */
    static Set<QueuePairType> setOf(int mask) {
        Set<QueuePairType> types = EnumSet.noneOf(QueuePairType.class);
        for (QueuePairType type : VALUES) {
            if (type.code < Integer.SIZE && (mask & 1 << type.code) != 0) {
                types.add(type);
            }
        }
        return Collections.unmodifiableSet(types);
    }

    /** Where to see whether a device has queue pairs of this type. */
    String capability() {
        return switch (this) {
            case RC, UC, UD -> "the node and transport type of the device: " + this + " is part of InfiniBand and RoCE";
            case RAW_PACKET -> "DeviceAttributes.maxRawEthernetQueuePairs and DeviceAttributes.rawPacketCapabilities";
            case XRC_SEND, XRC_RECV -> "DeviceCapability.XRC in DeviceAttributes.capabilities";
            case DRIVER -> "the documentation of the driver";
        };
    }

    /**
     * The constant of a value in C.
     *
     * @param code its number in {@code verbs.h}
     * @return the constant
     * @throws IllegalArgumentException when there is none
     */
    public static QueuePairType of(int code) {
        for (QueuePairType value : VALUES) {
            if (value.code == code) {
                return value;
            }
        }
        throw new IllegalArgumentException("no QueuePairType has the code " + code);
    }
}
