package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.TransportType;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ece;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_rate_limit_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.QueuePairTransitions;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.queue.DataInOrder;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.RateLimit;
import org.rdmapanama.queue.WorkRequestOpcode;

/**
 * The control path of a queue pair: its methods that query and change attributes, options of connection establishment
 * and the rate limit. It has no state, so any thread that may use the queue pair may use it.
 */
final class QueuePairControl {
    private static final String RATE_LIMIT_CAPABILITY =
            "a driver that reports the rate limit itself, because the kernel's interface does not";
    private static final String ECE_CAPABILITY = "a driver with enhanced connection establishment, such as mlx5";

    /**
     * What the kernel's driver mlx5_ib tells of a target of the dynamically connected transport. It refuses other questions,
     * and answers that for the path with zeros.
     */
    private static final Set<QueuePairAttribute> TOLD_OF_TARGETS = Collections.unmodifiableSet(EnumSet.of(
            QueuePairAttribute.STATE,
            QueuePairAttribute.ACCESS_FLAGS,
            QueuePairAttribute.PKEY_INDEX,
            QueuePairAttribute.PORT,
            QueuePairAttribute.PATH_MTU,
            QueuePairAttribute.MIN_RNR_TIMER));

    private final QueuePair queuePair;

    QueuePairControl(QueuePair queuePair) {
        this.queuePair = queuePair;
    }

    QueuePairAttributes query(QueuePairAttribute... wanted) {
        Set<QueuePairAttribute> asked = asked(wanted);
        int mask = Codes.mask(asked, QueuePairAttribute::code);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_attr.layout());
            MemorySegment initial = temporary.allocate(ibv_qp_init_attr.layout());
            queuePair.enter();
            try {
                queuePair.context.check(
                        "ibv_query_qp",
                        queuePair.provider.queryQueuePair(
                                queuePair.address, attributes.address(), mask, initial.address()),
                        queuePair + ", " + asked,
                        asked.contains(QueuePairAttribute.RATE_LIMIT) ? RATE_LIMIT_CAPABILITY : null);
            } finally {
                queuePair.exit();
            }
            return QueuePairAttributes.ofNative(attributes, mask);
        }
    }

    private Set<QueuePairAttribute> asked(QueuePairAttribute... wanted) {
        boolean ofTarget = queuePair.role() instanceof DcRole.Target;
        Set<QueuePairAttribute> asked = EnumSet.noneOf(QueuePairAttribute.class);
        if (wanted.length > 0) {
            asked.addAll(Arrays.asList(wanted));
        } else {
            asked.addAll(ofTarget ? TOLD_OF_TARGETS : EnumSet.complementOf(EnumSet.of(QueuePairAttribute.RATE_LIMIT)));
        }
        if (ofTarget) {
            requireToldOfTarget(asked);
        }
        return asked;
    }

    /** The driver refuses all when it does not tell one; and the device creates a target on the way to RTR. */
    private void requireToldOfTarget(Set<QueuePairAttribute> asked) {
        Set<QueuePairAttribute> others = EnumSet.copyOf(asked);
        others.removeAll(TOLD_OF_TARGETS);
        if (!others.isEmpty()) {
            throw new IllegalArgumentException(
                    "of a target only " + TOLD_OF_TARGETS + " can be queried: " + others + " of " + queuePair);
        }
        QueuePairState state = queuePair.knownState();
        if (state != QueuePairState.RTR) {
            throw new IllegalStateException(queuePair + " is in state " + state
                    + ", and a target can be queried in RTR only; call activate first");
        }
    }

    QueuePairInitialAttributes queryInitial() {
        QueuePairAttribute asked = QueuePairAttribute.CAP;
        if (queuePair.role() instanceof DcRole.Target) {
            // It has no sizes: the driver refuses the question for them, and answers 0 with any other one.
            asked = QueuePairAttribute.STATE;
            requireToldOfTarget(EnumSet.of(asked));
        }
        queuePair.enter();
        try {
            return queryInitial(queuePair.context, queuePair.address, asked);
        } finally {
            queuePair.exit();
        }
    }

    /**
     * Also for a queue pair that has no Java object yet.
     *
     * @param asked an attribute that the driver answers; what else it tells comes with each
     */
    static QueuePairInitialAttributes queryInitial(Context context, long address, QueuePairAttribute asked) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_attr.layout());
            MemorySegment initial = temporary.allocate(ibv_qp_init_attr.layout());
            int result =
                    context.provider().queryQueuePair(address, attributes.address(), asked.code(), initial.address());
            context.check("ibv_query_qp", result, "the initial attributes of a queue pair", null);
            return QueueStructs.readInitialAttributes(initial);
        }
    }

    void modify(QueuePairAttributes attributes) {
        checkTransition(attributes);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment encoded = temporary.allocate(ibv_qp_attr.layout());
            QueueStructs.writeAttributes(attributes, encoded);
            queuePair.enter();
            try {
                int result = modify(encoded.address(), attributes);
                if (result < 0) {
                    throw failureOfModify(result, attributes);
                }
            } finally {
                queuePair.exit();
            }
        }
    }

    private void checkTransition(QueuePairAttributes attributes) {
        // iWARP has the same states but other attributes, which its driver checks.
        if (queuePair.context.transportType() != TransportType.IWARP) {
            QueuePairTransitions.check(queuePair, queuePair.type(), queuePair.role(), queuePair.state(), attributes);
        }
    }

    private VerbsException failureOfModify(int result, QueuePairAttributes attributes) {
        return new VerbsException("ibv_modify_qp", -result, queuePair + ", " + attributes, cureOfModify(-result));
    }

    /** For {@link org.rdmapanama.internal.provider.NativeModify}. */
    void modify(MemorySegment encoded, int mask) {
        queuePair.enter();
        try {
            int result = ClearedQueues.NONE.call(queuePair, () -> modifyNative(encoded.address(), mask));
            if (result < 0) {
                QueuePairAttributes attributes = QueuePairAttributes.ofNative(encoded, mask);
                checkTransition(attributes);
                throw failureOfModify(result, attributes);
            }
        } finally {
            queuePair.exit();
        }
    }

    /**
     * Drivers would reset the queue during a batch, and on the way to RESET or ERR some clear the completion queues,
     * holding their locks.
     */
    private int modify(long encoded, QueuePairAttributes attributes) {
        Set<QueuePairAttribute> given = attributes.given();
        int mask = Codes.mask(given, QueuePairAttribute::code);
        boolean clears = given.contains(QueuePairAttribute.STATE)
                && (attributes.state() == QueuePairState.RESET || attributes.state() == QueuePairState.ERR);
        ClearedQueues cleared = clears ? queuePair.clearedQueues : ClearedQueues.NONE;
        return cleared.call(queuePair, () -> modifyNative(encoded, mask));
    }

    private int modifyNative(long encoded, int mask) {
        int result = queuePair.provider.modifyQueuePair(queuePair.address, encoded, mask);
        if (result == 0) {
            queuePair.takeNumber();
        }
        if (result == 0
                && (mask & QueuePairAttribute.STATE.code()) != 0
                && Native.getInt(encoded + ibv_qp_attr.qp_state$offset()) == QueuePairState.RESET.code()) {
            queuePair.wasReset();
        }
        return result;
    }

    private @Nullable String cureOfModify(int errno) {
        String special = queuePair.provider.cure(errno);
        if (special != null) {
            return special;
        }
        if (errno == Errno.ETIMEDOUT || errno == Errno.ENETUNREACH || errno == Errno.EHOSTUNREACH) {
            return "the peer's address cannot be resolved; check it and the route to it";
        }
        if (errno == Errno.EINVAL && queuePair.context.transportType() == TransportType.IWARP) {
            return "most drivers of iWARP devices connect queue pairs through the connection manager only: use RdmaClient and"
                    + " RdmaServer of module rdma-cm; the peer must be iWARP as well";
        }
        return null;
    }

    /** Without the checks of {@link #modify}, so that closing can call it. Returns whether that succeeded. */
    boolean fail() {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_attr.layout());
            ibv_qp_attr.qp_state(attributes, QueuePairState.ERR.code());
            return queuePair.provider.modifyQueuePair(
                            queuePair.address, attributes.address(), QueuePairAttribute.STATE.code())
                    == 0;
        }
    }

    Ece queryEce() {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment ece = temporary.allocate(ibv_ece.layout());
            queuePair.enter();
            try {
                queuePair.context.check(
                        "ibv_query_ece",
                        queuePair.provider.queryEce(queuePair.address, ece.address()),
                        queuePair.toString(),
                        ECE_CAPABILITY);
            } finally {
                queuePair.exit();
            }
            return new Ece(ibv_ece.vendor_id(ece), ibv_ece.options(ece), ibv_ece.comp_mask(ece));
        }
    }

    Ece setEce(Ece options) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment ece = temporary.allocate(ibv_ece.layout());
            ibv_ece.vendor_id(ece, options.vendorId());
            ibv_ece.options(ece, options.options());
            ibv_ece.comp_mask(ece, options.compMask());
            queuePair.enter();
            try {
                queuePair.context.check(
                        "ibv_set_ece",
                        queuePair.provider.setEce(queuePair.address, ece.address()),
                        queuePair + ", " + options,
                        ECE_CAPABILITY);
            } finally {
                queuePair.exit();
            }
            return new Ece(ibv_ece.vendor_id(ece), ibv_ece.options(ece), ibv_ece.comp_mask(ece));
        }
    }

    void modifyRateLimit(RateLimit limit) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_rate_limit_attr.layout());
            ibv_qp_rate_limit_attr.rate_limit(attributes, limit.kilobitsPerSecond());
            ibv_qp_rate_limit_attr.max_burst_sz(attributes, limit.maxBurstBytes());
            ibv_qp_rate_limit_attr.typical_pkt_sz(attributes, (short) limit.typicalPacketBytes());
            queuePair.enter();
            try {
                queuePair.beginCall();
                try {
                    queuePair.context.check(
                            "ibv_modify_qp_rate_limit",
                            queuePair.provider.modifyRateLimit(queuePair.address, attributes.address()),
                            queuePair + ", " + limit,
                            "DeviceAttributes.packetPacing");
                } finally {
                    queuePair.endCall();
                }
            } finally {
                queuePair.exit();
            }
        }
    }

    Set<DataInOrder> queryDataInOrder(WorkRequestOpcode opcode) {
        int code = opcode.code();
        queuePair.enter();
        try {
            int result = queuePair.provider.queryDataInOrder(
                    queuePair.address, code, rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS());
            if (result < 0) {
                throw new VerbsException("ibv_query_qp_data_in_order", -result, queuePair.toString(), null);
            }
            return Codes.flags(DataInOrder.class, DataInOrder::code, result);
        } finally {
            queuePair.exit();
        }
    }
}
