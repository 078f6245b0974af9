package org.rdmapanama.queue;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.QueuePair;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.memory.AccessFlag;

/**
 * Attributes of a queue pair, with a record of which ones are given, {@code struct ibv_qp_attr} and its mask: what
 * {@link QueuePair#modify} takes and {@link QueuePair#query} returns; see ibv_modify_qp(3).
 *
 * <p>{@snippet :
 * qp.modify(new QueuePairAttributes().state(QueuePairState.ERR));
 * }
 *
 * <p>Each attribute has a method that gives it and a method of the same name that reads it; giving it adds it to {@link
 * #given()}. Threads: one at a time.
 */
public final class QueuePairAttributes {
    private final Set<QueuePairAttribute> given = EnumSet.noneOf(QueuePairAttribute.class);
    private QueuePairState state = QueuePairState.UNKNOWN;
    private QueuePairState currentState = QueuePairState.UNKNOWN;
    private @Nullable Mtu pathMtu;
    private int qkey;
    private int receivePsn;
    private int sendPsn;
    private int destinationQueuePair;
    private Set<AccessFlag> accessFlags = Set.of();
    private @Nullable AddressVector addressVector;
    private @Nullable AddressVector alternatePath;
    private int alternatePkeyIndex;
    private int alternateTimeout;
    private int pkeyIndex;
    private boolean notifyWhenDrained;
    private int maxReadAtomicAsInitiator;
    private int maxReadAtomicAsTarget;
    private int minRnrTimer;
    private int port;
    private int timeout;
    private int retryCount;
    private int rnrRetry;
    private int rateLimit;
    private PathMigrationState pathMigrationState = PathMigrationState.MIGRATED;
    private @Nullable QueuePairCapabilities capabilities;

    /** Creates attributes of which none is given. */
    public QueuePairAttributes() {}

    /** {@return the attributes that are given, an unmodifiable view} */
    public Set<QueuePairAttribute> given() {
        return Collections.unmodifiableSet(given);
    }

    private void give(QueuePairAttribute attribute) {
        given.add(attribute);
    }

    private static int checked(QueuePairAttribute attribute, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(attribute + " must be between " + min + " and " + max + ": " + value);
        }
        return value;
    }

    /**
     * Gives {@link QueuePairAttribute#STATE}: the next state, or the state in the result of a query.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes state(QueuePairState value) {
        state = Objects.requireNonNull(value, "state");
        give(QueuePairAttribute.STATE);
        return this;
    }

    /** {@return the state; undefined unless it is given} */
    public QueuePairState state() {
        return state;
    }

    /**
     * Gives {@link QueuePairAttribute#CUR_STATE}. The state that the queue pair is assumed to be in.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes currentState(QueuePairState value) {
        currentState = Objects.requireNonNull(value, "currentState");
        give(QueuePairAttribute.CUR_STATE);
        return this;
    }

    /** {@return the state that the queue pair is assumed to be in; undefined unless it is given} */
    public QueuePairState currentState() {
        return currentState;
    }

    /**
     * Gives {@link QueuePairAttribute#PATH_MTU}. Path MTU.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes pathMtu(Mtu value) {
        pathMtu = Objects.requireNonNull(value, "pathMtu");
        give(QueuePairAttribute.PATH_MTU);
        return this;
    }

    /** {@return the path MTU; null unless it is given, and for a queue pair that was never connected} */
    public @Nullable Mtu pathMtu() {
        return pathMtu;
    }

    /**
     * Gives {@link QueuePairAttribute#QKEY}. The Q_Key, 32 bits; datagrams with another one are dropped.
     *
     * @param value the attribute
     * @return this
     */
    public QueuePairAttributes qkey(int value) {
        qkey = value;
        give(QueuePairAttribute.QKEY);
        return this;
    }

    /** {@return the Q_Key; undefined unless it is given} */
    public int qkey() {
        return qkey;
    }

    /**
     * Gives {@link QueuePairAttribute#RQ_PSN}. Number of the first packet that the peer will send.
     *
     * @param value the attribute, 0 to 16777215
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes receivePsn(int value) {
        receivePsn = checked(QueuePairAttribute.RQ_PSN, value, 0, 0xff_ffff);
        give(QueuePairAttribute.RQ_PSN);
        return this;
    }

    /** {@return the number of the first packet that the peer sends; undefined unless it is given} */
    public int receivePsn() {
        return receivePsn;
    }

    /**
     * Gives {@link QueuePairAttribute#SQ_PSN}. Number of the first packet that this side will send.
     *
     * @param value the attribute, 0 to 16777215
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes sendPsn(int value) {
        sendPsn = checked(QueuePairAttribute.SQ_PSN, value, 0, 0xff_ffff);
        give(QueuePairAttribute.SQ_PSN);
        return this;
    }

    /** {@return the number of the first packet that this side sends; undefined unless it is given} */
    public int sendPsn() {
        return sendPsn;
    }

    /**
     * Gives {@link QueuePairAttribute#DEST_QPN}. Number of the peer's queue pair.
     *
     * @param value the attribute, 0 to 16777215
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes destinationQueuePair(int value) {
        destinationQueuePair = checked(QueuePairAttribute.DEST_QPN, value, 0, 0xff_ffff);
        give(QueuePairAttribute.DEST_QPN);
        return this;
    }

    /** {@return the number of the peer's queue pair; undefined unless it is given} */
    public int destinationQueuePair() {
        return destinationQueuePair;
    }

    /**
     * Gives {@link QueuePairAttribute#ACCESS_FLAGS}. The operations that peers may use through this queue pair.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes accessFlags(Set<AccessFlag> value) {
        accessFlags = Codes.copyOf(AccessFlag.class, value);
        give(QueuePairAttribute.ACCESS_FLAGS);
        return this;
    }

    /** {@return the operations that peers may use through this queue pair; undefined unless they are given} */
    public Set<AccessFlag> accessFlags() {
        return accessFlags;
    }

    /**
     * Gives {@link QueuePairAttribute#AV}. The path to the peer.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes addressVector(AddressVector value) {
        addressVector = Objects.requireNonNull(value, "addressVector");
        give(QueuePairAttribute.AV);
        return this;
    }

    /** {@return the path to the peer; null unless it is given} */
    public @Nullable AddressVector addressVector() {
        return addressVector;
    }

    /**
     * Gives {@link QueuePairAttribute#ALT_PATH}. An alternate path to the peer.
     *
     * @param value the path
     * @param pkeyIndex index of the partition key for that path in its port's table, 0 to 65535
     * @param timeout how long to wait for an acknowledgement on that path, 0 to 31; see {@link #timeout(int)}
     * @return this
     * @throws IllegalArgumentException when a number is out of range
     * @throws NullPointerException when the path is null
     */
    public QueuePairAttributes alternatePath(AddressVector value, int pkeyIndex, int timeout) {
        alternatePath = Objects.requireNonNull(value, "alternatePath");
        alternatePkeyIndex = checked(QueuePairAttribute.ALT_PATH, pkeyIndex, 0, 65535);
        alternateTimeout = checked(QueuePairAttribute.ALT_PATH, timeout, 0, 31);
        give(QueuePairAttribute.ALT_PATH);
        return this;
    }

    /** {@return the alternate path to the peer; null unless it is given} */
    public @Nullable AddressVector alternatePath() {
        return alternatePath;
    }

    /** {@return the index of the partition key for the alternate path; undefined unless the path is given} */
    public int alternatePkeyIndex() {
        return alternatePkeyIndex;
    }

    /**
     * {@return how long to wait for an acknowledgement on the alternate path, 0 to 31; undefined unless the path is
     * given}
     */
    public int alternateTimeout() {
        return alternateTimeout;
    }

    /**
     * Gives {@link QueuePairAttribute#PKEY_INDEX}. The index of the partition key in the port's table.
     *
     * @param value the attribute, 0 to 65535
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes pkeyIndex(int value) {
        pkeyIndex = checked(QueuePairAttribute.PKEY_INDEX, value, 0, 65535);
        give(QueuePairAttribute.PKEY_INDEX);
        return this;
    }

    /** {@return the index of the partition key in the port's table; undefined unless it is given} */
    public int pkeyIndex() {
        return pkeyIndex;
    }

    /**
     * Gives {@link QueuePairAttribute#EN_SQD_ASYNC_NOTIFY}. Whether draining the send queue raises an event.
     *
     * @param value the attribute
     * @return this
     */
    public QueuePairAttributes notifyWhenDrained(boolean value) {
        notifyWhenDrained = value;
        give(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY);
        return this;
    }

    /** {@return whether draining the send queue raises an event; undefined unless it is given} */
    public boolean notifyWhenDrained() {
        return notifyWhenDrained;
    }

    /**
     * Gives {@link QueuePairAttribute#MAX_QP_RD_ATOMIC}. The maximum number of outstanding RDMA reads and atomics to
     * the peer.
     *
     * @param value the attribute, 0 to 255
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes maxReadAtomicAsInitiator(int value) {
        maxReadAtomicAsInitiator = checked(QueuePairAttribute.MAX_QP_RD_ATOMIC, value, 0, 255);
        give(QueuePairAttribute.MAX_QP_RD_ATOMIC);
        return this;
    }

    /** {@return the maximum number of outstanding RDMA reads and atomics to the peer; undefined unless it is given} */
    public int maxReadAtomicAsInitiator() {
        return maxReadAtomicAsInitiator;
    }

    /**
     * Gives {@link QueuePairAttribute#MAX_DEST_RD_ATOMIC}. The maximum number of outstanding RDMA reads and atomics
     * from the peer.
     *
     * @param value the attribute, 0 to 255
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes maxReadAtomicAsTarget(int value) {
        maxReadAtomicAsTarget = checked(QueuePairAttribute.MAX_DEST_RD_ATOMIC, value, 0, 255);
        give(QueuePairAttribute.MAX_DEST_RD_ATOMIC);
        return this;
    }

    /**
     * {@return the maximum number of outstanding RDMA reads and atomics from the peer; undefined unless it is given}
     */
    public int maxReadAtomicAsTarget() {
        return maxReadAtomicAsTarget;
    }

    /**
     * Gives {@link QueuePairAttribute#MIN_RNR_TIMER}. How long the peer waits before it retransmits if no receive is
     * posted, coded as in the specification: 1 is 0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms, 0 is 655.36 ms.
     *
     * @param value the attribute, 0 to 31
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes minRnrTimer(int value) {
        minRnrTimer = checked(QueuePairAttribute.MIN_RNR_TIMER, value, 0, 31);
        give(QueuePairAttribute.MIN_RNR_TIMER);
        return this;
    }

    /** {@return the coded time for which the peer waits if no receive is posted; undefined unless it is given} */
    public int minRnrTimer() {
        return minRnrTimer;
    }

    /**
     * Gives {@link QueuePairAttribute#PORT}. Port number, from 1.
     *
     * @param value the attribute, 0 to 255
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes port(int value) {
        port = checked(QueuePairAttribute.PORT, value, 0, 255);
        give(QueuePairAttribute.PORT);
        return this;
    }

    /** {@return the port number, from 1; undefined unless it is given} */
    public int port() {
        return port;
    }

    /**
     * Gives {@link QueuePairAttribute#TIMEOUT}. How long to wait for an acknowledgement, as the exponent n in 4.096
     * microseconds * 2<sup>n</sup>; 0 waits forever.
     *
     * @param value the attribute, 0 to 31
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes timeout(int value) {
        timeout = checked(QueuePairAttribute.TIMEOUT, value, 0, 31);
        give(QueuePairAttribute.TIMEOUT);
        return this;
    }

    /** {@return the coded time to wait for an acknowledgement; undefined unless it is given} */
    public int timeout() {
        return timeout;
    }

    /**
     * Gives {@link QueuePairAttribute#RETRY_CNT}. How often an unacknowledged request is retransmitted.
     *
     * @param value the attribute, 0 to 7
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes retryCount(int value) {
        retryCount = checked(QueuePairAttribute.RETRY_CNT, value, 0, 7);
        give(QueuePairAttribute.RETRY_CNT);
        return this;
    }

    /** {@return the number of retransmissions of an unacknowledged request; undefined unless it is given} */
    public int retryCount() {
        return retryCount;
    }

    /**
     * Gives {@link QueuePairAttribute#RNR_RETRY}. How often a request is retransmitted while the peer has no receive
     * posted; 7 means no limit.
     *
     * @param value the attribute, 0 to 7
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes rnrRetry(int value) {
        rnrRetry = checked(QueuePairAttribute.RNR_RETRY, value, 0, 7);
        give(QueuePairAttribute.RNR_RETRY);
        return this;
    }

    /**
     * {@return the number of retransmissions if the peer has no receive posted, 7 for no limit; undefined unless it is
     * given}
     */
    public int rnrRetry() {
        return rnrRetry;
    }

    /**
     * Gives {@link QueuePairAttribute#RATE_LIMIT}. Rate limit of a raw packet queue pair, in kilobits per second.
     *
     * @param value the attribute, 0 to 2147483647
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairAttributes rateLimit(int value) {
        rateLimit = checked(QueuePairAttribute.RATE_LIMIT, value, 0, 2147483647);
        give(QueuePairAttribute.RATE_LIMIT);
        return this;
    }

    /** {@return the rate limit of a raw packet queue pair, in kilobits per second; undefined unless it is given} */
    public int rateLimit() {
        return rateLimit;
    }

    /**
     * Gives {@link QueuePairAttribute#PATH_MIG_STATE}. State of automatic path migration.
     *
     * @param value the attribute
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes pathMigrationState(PathMigrationState value) {
        pathMigrationState = Objects.requireNonNull(value, "pathMigrationState");
        give(QueuePairAttribute.PATH_MIG_STATE);
        return this;
    }

    /** {@return the state of automatic path migration; undefined unless it is given} */
    public PathMigrationState pathMigrationState() {
        return pathMigrationState;
    }

    /**
     * Gives {@link QueuePairAttribute#CAP}. Sizes of the queues; few devices can change them.
     *
     * @param value the sizes
     * @return this
     * @throws NullPointerException when it is null
     */
    public QueuePairAttributes capabilities(QueuePairCapabilities value) {
        capabilities = Objects.requireNonNull(value, "capabilities");
        give(QueuePairAttribute.CAP);
        return this;
    }

    /** {@return the sizes of the queues; null unless they are given} */
    public @Nullable QueuePairCapabilities capabilities() {
        return capabilities;
    }

    /**
     * Attributes that other native code has filled in, such as {@code rdma_init_qp_attr}.
     *
     * @param struct a {@code struct ibv_qp_attr}
     * @param mask the mask of the fields that are given, {@code enum ibv_qp_attr_mask}; bits without a constant in
     *     {@link QueuePairAttribute}, which some kernels set for internal use, are ignored
     * @return the attributes
     * @throws IllegalArgumentException when the memory does not have the alignment of the structure, or a field is out
     *     of its range
     * @throws IndexOutOfBoundsException when the memory is smaller than the structure
     * @throws NullPointerException when the memory is null
     */
    public static QueuePairAttributes ofNative(MemorySegment struct, int mask) {
        Set<QueuePairAttribute> masked = EnumSet.noneOf(QueuePairAttribute.class);
        for (QueuePairAttribute attribute : QueuePairAttribute.values()) {
            if ((mask & attribute.code()) != 0) {
                masked.add(attribute);
            }
        }
        return read(struct.asSlice(0, ibv_qp_attr.layout()), masked);
    }

    private static QueuePairAttributes read(MemorySegment struct, Set<QueuePairAttribute> asked) {
        QueuePairAttributes attributes = new QueuePairAttributes();
        attributes.state = QueuePairState.of(ibv_qp_attr.qp_state(struct));
        attributes.currentState = QueuePairState.of(ibv_qp_attr.cur_qp_state(struct));
        // A queue pair that was never connected has no path MTU.
        attributes.pathMtu = Codes.find(Mtu.values(), Mtu::code, ibv_qp_attr.path_mtu(struct), null);
        attributes.qkey = ibv_qp_attr.qkey(struct);
        attributes.receivePsn = ibv_qp_attr.rq_psn(struct);
        attributes.sendPsn = ibv_qp_attr.sq_psn(struct);
        attributes.destinationQueuePair = ibv_qp_attr.dest_qp_num(struct);
        attributes.accessFlags = Codes.flags(AccessFlag.class, AccessFlag::code, ibv_qp_attr.qp_access_flags(struct));
        attributes.addressVector = AddressStructs.readVector(ibv_qp_attr.ah_attr(struct));
        attributes.alternatePath = AddressStructs.readVector(ibv_qp_attr.alt_ah_attr(struct));
        attributes.alternatePkeyIndex = Short.toUnsignedInt(ibv_qp_attr.alt_pkey_index(struct));
        attributes.alternateTimeout = ibv_qp_attr.alt_timeout(struct) & 0x1f;
        attributes.pkeyIndex = Short.toUnsignedInt(ibv_qp_attr.pkey_index(struct));
        attributes.notifyWhenDrained = ibv_qp_attr.en_sqd_async_notify(struct) != 0;
        attributes.maxReadAtomicAsInitiator = Byte.toUnsignedInt(ibv_qp_attr.max_rd_atomic(struct));
        attributes.maxReadAtomicAsTarget = Byte.toUnsignedInt(ibv_qp_attr.max_dest_rd_atomic(struct));
        attributes.minRnrTimer = Byte.toUnsignedInt(ibv_qp_attr.min_rnr_timer(struct));
        attributes.port = Byte.toUnsignedInt(ibv_qp_attr.port_num(struct));
        attributes.timeout = Byte.toUnsignedInt(ibv_qp_attr.timeout(struct));
        attributes.retryCount = Byte.toUnsignedInt(ibv_qp_attr.retry_cnt(struct));
        attributes.rnrRetry = Byte.toUnsignedInt(ibv_qp_attr.rnr_retry(struct));
        attributes.rateLimit = ibv_qp_attr.rate_limit(struct);
        attributes.pathMigrationState = PathMigrationState.of(ibv_qp_attr.path_mig_state(struct));
        attributes.capabilities = QueueStructs.readCapabilities(ibv_qp_attr.cap(struct));
        attributes.given.addAll(asked);
        return attributes;
    }

    /** The attributes that are given. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (QueuePairAttribute attribute : given) {
            text.append(text.isEmpty() ? "" : ", ")
                    .append(attribute)
                    .append('=')
                    .append(valueOf(attribute));
        }
        return text.toString();
    }

    private @Nullable Object valueOf(QueuePairAttribute attribute) {
        return switch (attribute) {
            case STATE -> state;
            case CUR_STATE -> currentState;
            case PATH_MTU -> pathMtu;
            case QKEY -> "0x" + Integer.toHexString(qkey);
            case RQ_PSN -> receivePsn;
            case SQ_PSN -> sendPsn;
            case DEST_QPN -> "0x%06x".formatted(destinationQueuePair);
            case ACCESS_FLAGS -> accessFlags;
            case AV -> addressVector;
            case ALT_PATH -> alternatePath;
            case PKEY_INDEX -> pkeyIndex;
            case EN_SQD_ASYNC_NOTIFY -> notifyWhenDrained;
            case MAX_QP_RD_ATOMIC -> maxReadAtomicAsInitiator;
            case MAX_DEST_RD_ATOMIC -> maxReadAtomicAsTarget;
            case MIN_RNR_TIMER -> minRnrTimer;
            case PORT -> port;
            case TIMEOUT -> timeout;
            case RETRY_CNT -> retryCount;
            case RNR_RETRY -> rnrRetry;
            case RATE_LIMIT -> rateLimit;
            case PATH_MIG_STATE -> pathMigrationState;
            case CAP -> capabilities;
        };
    }
}
