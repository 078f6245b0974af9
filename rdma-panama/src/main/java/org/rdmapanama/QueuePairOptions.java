package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.RssCapabilities;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairCreateFlag;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RxHash;
import org.rdmapanama.queue.SendOperation;

/**
 * The options of a queue pair, {@code struct ibv_qp_init_attr} and {@code struct ibv_qp_init_attr_ex}; see
 * ibv_create_qp(3) and ibv_create_qp_ex(3).
 *
 * <p>{@snippet :
 * QueuePair qp = pd.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(64));
 * }
 *
 * <p>Defaults: 16 sends and 16 receives of one segment each, no inline data, and only signaled sends generate a
 * completion. Threads: one at a time.
 */
public final class QueuePairOptions {
    private static final int DEFAULT_WORK_REQUESTS = 16;
    private static final int MAX_NUMBER = 0xff_ffff;
    private static final int MAX_HEADER = 0xffff;

    private final QueuePairType type;
    private final @Nullable CompletionQueue sendQueue;
    private final @Nullable CompletionQueue receiveQueue;
    private QueuePairCapabilities sizes;
    private boolean signalAll;
    private final Set<SendOperation> sendOperations = EnumSet.noneOf(SendOperation.class);
    private final Set<QueuePairCreateFlag> createFlags = EnumSet.noneOf(QueuePairCreateFlag.class);
    private int sourceQueuePair;
    private int maxTsoHeader;
    private @Nullable RxHash rxHash;
    private @Nullable SharedReceiveQueue sharedReceiveQueue;
    private @Nullable XrcDomain xrcDomain;
    private @Nullable ReceiveIndirectionTable indirectionTable;

    /**
     * Creates options for a queue pair that reports sends and receives to one completion queue.
     *
     * @param type its transport service
     * @param queue the completion queue
     * @throws NullPointerException when an argument is null
     * @throws IllegalArgumentException when the type is XRC_SEND or XRC_RECV: see {@link #xrcSend} and {@link
     *     #xrcReceive}
     */
    public QueuePairOptions(QueuePairType type, CompletionQueue queue) {
        this(type, queue, queue);
    }

    /**
     * Creates options for a queue pair that reports sends and receives to two completion queues.
     *
     * @param type its transport service
     * @param sendQueue the completion queue of sends
     * @param receiveQueue the completion queue of receives
     * @throws NullPointerException when an argument is null
     * @throws IllegalArgumentException when the type is XRC_SEND or XRC_RECV: see {@link #xrcSend} and {@link
     *     #xrcReceive}
     */
    public QueuePairOptions(QueuePairType type, CompletionQueue sendQueue, CompletionQueue receiveQueue) {
        this(
                requireBothWays(type, sendQueue, receiveQueue),
                sendQueue,
                receiveQueue,
                new QueuePairCapabilities(DEFAULT_WORK_REQUESTS, DEFAULT_WORK_REQUESTS, 1, 1, 0));
    }

    private static QueuePairType requireBothWays(
            QueuePairType type, CompletionQueue sendQueue, CompletionQueue receiveQueue) {
        Objects.requireNonNull(sendQueue, "send completion queue");
        Objects.requireNonNull(receiveQueue, "receive completion queue");
        return switch (Objects.requireNonNull(type, "type")) {
            case XRC_SEND ->
                throw new IllegalArgumentException(
                        "type must not be XRC_SEND, which receives nothing; call QueuePairOptions.xrcSend");
            case XRC_RECV ->
                throw new IllegalArgumentException(
                        "type must not be XRC_RECV, which has no queues; call QueuePairOptions.xrcReceive");
            default -> type;
        };
    }

    private QueuePairOptions(
            QueuePairType type,
            @Nullable CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            QueuePairCapabilities sizes) {
        this.type = type;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
        this.sizes = sizes;
    }

    /**
     * Returns options for a queue pair of type {@link QueuePairType#XRC_SEND}, which receives nothing.
     *
     * @param sendQueue the completion queue of sends
     * @return new options: 16 sends of one segment each
     * @throws NullPointerException when the queue is null
     */
    public static QueuePairOptions xrcSend(CompletionQueue sendQueue) {
        return new QueuePairOptions(
                QueuePairType.XRC_SEND,
                Objects.requireNonNull(sendQueue, "send completion queue"),
                null,
                new QueuePairCapabilities(DEFAULT_WORK_REQUESTS, 0, 1, 0, 0));
    }

    /**
     * Returns options for a queue pair of type {@link QueuePairType#XRC_RECV}. It has no queues at all: each message
     * names a shared receive queue of the domain and completes in the completion queue of that one.
     *
     * @param domain the domain of the shared receive queues that messages may name
     * @return new options
     * @throws NullPointerException when the domain is null
     */
    public static QueuePairOptions xrcReceive(XrcDomain domain) {
        QueuePairOptions options = withoutQueues(QueuePairType.XRC_RECV);
        options.xrcDomain = Objects.requireNonNull(domain, "XRC domain");
        return options;
    }

    /**
     * Returns options for a queue pair that only receives, and spreads the packets over work queues (receive side
     * scaling). Receives are posted to the work queues.
     *
     * @param type RAW_PACKET or UD: see {@link RssCapabilities#queuePairTypes}
     * @param table the work queues
     * @param hash the hash that selects the work queue of a packet
     * @return new options
     * @throws NullPointerException when an argument is null
     * @throws IllegalArgumentException when the type is a connected one
     */
    public static QueuePairOptions receiveSideScaling(QueuePairType type, ReceiveIndirectionTable table, RxHash hash) {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(table, "indirection table");
        Objects.requireNonNull(hash, "hash");
        if (type != QueuePairType.RAW_PACKET && type != QueuePairType.UD && type != QueuePairType.DRIVER) {
            throw new IllegalArgumentException("type must be RAW_PACKET or UD for receive side scaling: " + type);
        }
        QueuePairOptions options = withoutQueues(type);
        options.indirectionTable = table;
        options.rxHash = hash;
        return options;
    }

    private static QueuePairOptions withoutQueues(QueuePairType type) {
        return new QueuePairOptions(type, null, null, new QueuePairCapabilities(0, 0, 0, 0, 0));
    }

    /** Returns the options of an existing queue pair. The receive queue may be null if the type has none. */
    static QueuePairOptions ofExisting(
            QueuePairInitialAttributes initial,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            @Nullable SharedReceiveQueue sharedReceiveQueue) {
        QueuePairOptions options =
                new QueuePairOptions(initial.type(), sendQueue, receiveQueue, initial.capabilities());
        options.sharedReceiveQueue = sharedReceiveQueue;
        options.signalAll = initial.signalAll();
        return options;
    }

    QueuePairType type() {
        return type;
    }

    /** Null if it sends nothing. */
    @Nullable
    CompletionQueue sendQueue() {
        return sendQueue;
    }

    /** Null if it receives nothing, or through other objects. */
    @Nullable
    CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /** Null if it has its own receive queue. */
    @Nullable
    SharedReceiveQueue sharedReceiveQueue() {
        return sharedReceiveQueue;
    }

    /** Whether receives are posted to the queue pair itself. */
    boolean hasReceiveQueue() {
        return receiveQueue != null && sharedReceiveQueue == null;
    }

    Set<SendOperation> sendOperations() {
        return sendOperations;
    }

    /** Whether sends may look otherwise than those of an ordinary queue pair. */
    boolean needsSpecialSends() {
        return !createFlags.isEmpty() || maxTsoHeader > 0;
    }

    boolean signalsAll() {
        return signalAll;
    }

    int maxTsoHeader() {
        return maxTsoHeader;
    }

    /** All objects that the queue pair will use, besides its protection domain. */
    List<ContextObject> uses() {
        List<ContextObject> uses = new ArrayList<>();
        uses.add(sendQueue);
        uses.add(receiveQueue);
        uses.add(sharedReceiveQueue);
        uses.add(xrcDomain);
        uses.add(indirectionTable);
        uses.removeIf(Objects::isNull);
        return uses;
    }

    QueuePairCapabilities sizes() {
        return sizes;
    }

    private static int checked(String name, int value) {
        if (value < 0) {
            throw new IllegalArgumentException(name + " must not be negative: " + value);
        }
        return value;
    }

    /**
     * Sets how many sends may be outstanding.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxSendWorkRequests(int count) {
        sizes = new QueuePairCapabilities(
                checked("maxSendWorkRequests", count),
                sizes.maxReceiveWorkRequests(),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how many receives may be outstanding.
     *
     * @param count 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxReceiveWorkRequests(int count) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                checked("maxReceiveWorkRequests", count),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how many segments one work request may have.
     *
     * @param sends of a send, 0 or more
     * @param receives of a receive, 0 or more
     * @return this
     * @throws IllegalArgumentException when a number is negative
     */
    public QueuePairOptions maxSegments(int sends, int receives) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                sizes.maxReceiveWorkRequests(),
                checked("maxSegments of sends", sends),
                checked("maxSegments of receives", receives),
                sizes.maxInlineData());
        return this;
    }

    /**
     * Sets how much data can be sent inline, that is, copied when posted, so that its memory can be reused at once.
     *
     * @param bytes 0 or more
     * @return this
     * @throws IllegalArgumentException when the number is negative
     */
    public QueuePairOptions maxInlineData(int bytes) {
        sizes = new QueuePairCapabilities(
                sizes.maxSendWorkRequests(),
                sizes.maxReceiveWorkRequests(),
                sizes.maxSendSegments(),
                sizes.maxReceiveSegments(),
                checked("maxInlineData", bytes));
        return this;
    }

    /**
     * Sets whether every send generates a completion, or only those marked {@link SendWorkRequest#signaled signaled}.
     *
     * @param all true for every one
     * @return this
     */
    public QueuePairOptions signalAll(boolean all) {
        signalAll = all;
        return this;
    }

    /**
     * Takes receives from a shared receive queue instead of the queue pair's own, whose sizes are then ignored. Post
     * receives with {@link SharedReceiveQueue#postReceive}.
     *
     * @param queue the shared receive queue, or null for the queue pair's own receive queue
     * @return this
     * @throws IllegalArgumentException when the type is XRC_RECV, whose messages name their queue, or XRC_SEND, which
     *     receives nothing; or when this spreads packets over work queues
     */
    public QueuePairOptions sharedReceiveQueue(@Nullable SharedReceiveQueue queue) {
        if (queue != null && (type == QueuePairType.XRC_SEND || type == QueuePairType.XRC_RECV)) {
            throw new IllegalArgumentException("a " + type
                    + " queue pair has no receive queue; each message names the shared receive queue it goes to");
        }
        if (queue != null && indirectionTable != null) {
            throw new IllegalArgumentException(
                    "this queue pair receives through the work queues of its indirection table");
        }
        sharedReceiveQueue = queue;
        return this;
    }

    /**
     * Adds operations that can be posted with {@link ExtendedQueuePair#startWorkRequests}. For {@link
     * ProtectionDomain#createExtendedQueuePair} only, which needs at least one.
     *
     * @param operations the operations to add
     * @return this
     * @throws NullPointerException when one is null
     */
    public QueuePairOptions sendOperations(SendOperation... operations) {
        sendOperations.addAll(Arrays.asList(operations));
        return this;
    }

    /**
     * Adds options of the queue pair.
     *
     * @param flags any except {@link QueuePairCreateFlag#SOURCE_QPN}, which {@link #sourceQueuePair} adds
     * @return this
     * @throws IllegalArgumentException when SOURCE_QPN is among them
     * @throws NullPointerException when one is null
     */
    public QueuePairOptions createFlags(QueuePairCreateFlag... flags) {
        List<QueuePairCreateFlag> added = Arrays.asList(flags);
        if (added.contains(QueuePairCreateFlag.SOURCE_QPN)) {
            throw new IllegalArgumentException("flags must not contain SOURCE_QPN; call sourceQueuePair(number)");
        }
        createFlags.addAll(added);
        return this;
    }

    /**
     * Sets the number under which a datagram queue pair sends, instead of its own: that of a queue pair through which
     * the device shares its port with the network stack.
     *
     * @param number 24 bits
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairOptions sourceQueuePair(int number) {
        if (number < 0 || number > MAX_NUMBER) {
            throw new IllegalArgumentException("queue pair number must be between 0 and 0xffffff: " + number);
        }
        sourceQueuePair = number;
        createFlags.add(QueuePairCreateFlag.SOURCE_QPN);
        return this;
    }

    /**
     * Sets the size of the headers in front of each TCP segment that a
     * {@link WorkRequestBuilder#tso segmented send} makes.
     *
     * @param bytes up to 65535
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public QueuePairOptions maxTsoHeader(int bytes) {
        if (bytes < 0 || bytes > MAX_HEADER) {
            throw new IllegalArgumentException("maxTsoHeader must be between 0 and " + MAX_HEADER + ": " + bytes);
        }
        maxTsoHeader = bytes;
        return this;
    }
    /** Whether ibv_create_qp cannot create it, so that the extended call is needed. */
    boolean needsExtendedCall() {
        return !sendOperations.isEmpty()
                || !createFlags.isEmpty()
                || maxTsoHeader > 0
                || xrcDomain != null
                || indirectionTable != null
                || rxHash != null;
    }

    /** Where to look for support of all these options. */
    String capability() {
        List<String> places = new ArrayList<>();
        if (maxTsoHeader > 0 || sendOperations.contains(SendOperation.TSO)) {
            places.add("DeviceAttributes.tsoCapabilities");
        }
        if (indirectionTable != null) {
            places.add("DeviceAttributes.rssCapabilities");
        }
        if (createFlags.contains(QueuePairCreateFlag.SCATTER_FCS)
                || createFlags.contains(QueuePairCreateFlag.CVLAN_STRIPPING)) {
            places.add("DeviceAttributes.rawPacketCapabilities");
        }
        if (createFlags.contains(QueuePairCreateFlag.PCI_WRITE_END_PADDING)) {
            places.add("DeviceCapability.PCI_WRITE_END_PADDING in DeviceAttributes.capabilities");
        }
        if (!sendOperations.isEmpty()) {
            places.add("the send operations of the driver, which no attribute shows");
        }
        if (places.isEmpty() && !createFlags.isEmpty()) {
            places.add("the documentation of the driver for " + createFlags);
        }
        places.add(capability(type));
        return String.join(", and ", places);
    }

    /** Where to look for support of queue pairs of this type. */
    static String capability(QueuePairType type) {
        return switch (type) {
            case RC, UC, UD ->
                "the node and transport type of the device, since " + type + " is part of InfiniBand and RoCE";
            case RAW_PACKET -> "DeviceAttributes.maxRawEthernetQueuePairs and DeviceAttributes.rawPacketCapabilities";
            case XRC_SEND, XRC_RECV -> "DeviceCapability.XRC in DeviceAttributes.capabilities";
            case DRIVER -> "the documentation of the driver";
        };
    }

    /**
     * Writes a struct ibv_qp_init_attr_ex, which begins as a struct ibv_qp_init_attr does.
     *
     * @param protectionDomain the address of the protection domain
     * @param temporary the arena for memory that the structure points to
     */
    void write(MemorySegment attributes, long protectionDomain, Arena temporary) {
        ibv_qp_init_attr.send_cq(attributes, pointer(sendQueue));
        ibv_qp_init_attr.recv_cq(attributes, pointer(receiveQueue));
        ibv_qp_init_attr.srq(attributes, pointer(sharedReceiveQueue));
        ibv_qp_init_attr.qp_type(attributes, type.code());
        ibv_qp_init_attr.sq_sig_all(attributes, signalAll ? 1 : 0);
        QueuePairCapabilities wanted = hasReceiveQueue()
                ? sizes
                : new QueuePairCapabilities(
                        sizes.maxSendWorkRequests(), 0, sizes.maxSendSegments(), 0, sizes.maxInlineData());
        QueueStructs.writeCapabilities(wanted, ibv_qp_init_attr.cap(attributes));
        int mask = 0;
        if (type != QueuePairType.XRC_RECV) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_PD();
            ibv_qp_init_attr_ex.pd(attributes, MemorySegment.ofAddress(protectionDomain));
        }
        if (xrcDomain != null) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_XRCD();
            ibv_qp_init_attr_ex.xrcd(attributes, pointer(xrcDomain));
        }
        if (!createFlags.isEmpty()) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_CREATE_FLAGS();
            ibv_qp_init_attr_ex.create_flags(attributes, Codes.mask(createFlags, QueuePairCreateFlag::code));
            ibv_qp_init_attr_ex.source_qpn(attributes, sourceQueuePair);
        }
        if (maxTsoHeader > 0) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_MAX_TSO_HEADER();
            ibv_qp_init_attr_ex.max_tso_header(attributes, (short) maxTsoHeader);
        }
        if (indirectionTable != null) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_IND_TABLE();
            ibv_qp_init_attr_ex.rwq_ind_tbl(attributes, pointer(indirectionTable));
        }
        if (rxHash != null) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_RX_HASH();
            QueueStructs.writeRxHash(rxHash, ibv_qp_init_attr_ex.rx_hash_conf(attributes), temporary);
        }
        if (!sendOperations.isEmpty()) {
            mask |= rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
            ibv_qp_init_attr_ex.send_ops_flags(attributes, Codes.mask(sendOperations, SendOperation::code));
        }
        ibv_qp_init_attr_ex.comp_mask(attributes, mask);
    }

    private static MemorySegment pointer(@Nullable ContextObject object) {
        return object == null ? MemorySegment.NULL : MemorySegment.ofAddress(object.address);
    }

    /** Type, sizes, and options beyond those of a plain queue pair. */
    @Override
    public String toString() {
        return type + ", " + sizes
                + (sendOperations.isEmpty() ? "" : ", send operations " + sendOperations)
                + (createFlags.isEmpty() ? "" : ", " + createFlags)
                + (rxHash == null ? "" : ", " + rxHash);
    }
}
