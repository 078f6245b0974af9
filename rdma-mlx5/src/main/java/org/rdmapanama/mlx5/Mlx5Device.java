package org.rdmapanama.mlx5;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.Ownership;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.mlx5.mlx5dv_context;
import org.rdmapanama.ffm.mlx5.mlx5dv_cq_init_attr;
import org.rdmapanama.ffm.mlx5.mlx5dv_dc_init_attr;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp_ex;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.internal.provider.DriverObjects;
import org.rdmapanama.mlx5.internal.Libmlx5;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;

/**
 * An open ConnectX device, and what its driver adds to verbs; see mlx5dv(7).
 *
 * <p>The dynamically connected transport, DC, is reliable as RC is, without a queue pair for each peer. A program sends
 * through an initiator, each time to another target if need be; the device connects and disconnects by itself. Others reach
 * a target by the address of its device, its number, and its access key. All that it receives comes from a shared receive
 * queue; RDMA reads, writes and atomics need none.
 *
 * <p>{@snippet :
 * Mlx5Device mlx5 = Mlx5Device.of(context);
 * QueuePair target = mlx5.createDcTarget(
 *         pd, new QueuePairOptions(QueuePairType.DRIVER, queue).sharedReceiveQueue(receives), accessKey);
 * target.activate();
 * send(target.localEndpoint(), accessKey);   // by any means to the other side
 *
 * ExtendedQueuePair initiator = mlx5.createDcInitiator(
 *         pd, new QueuePairOptions(QueuePairType.DRIVER, queue).sendOperations(SendOperation.RDMA_WRITE));
 * initiator.activate();
 * AddressHandle handle = pd.createAddressHandle(initiator.pathTo(peerEndpoint));
 * try (WorkRequestBuilder batch = initiator.startWorkRequests()) {
 *     batch.signaled(true)
 *             .rdmaWrite(remote)
 *             .toTarget(handle, peerEndpoint.queuePairNumber(), peerAccessKey)
 *             .add(region, 0, 4096);
 *     batch.complete();
 * }
 * }
 *
 * <p>A doorbell register of its own, which no other thread rings, comes with a {@link
 * org.rdmapanama.Context#allocateThreadDomain thread domain}: queue pairs in a parent domain that has one use its register,
 * initiators among them.
 *
 * <p>Threads: as {@link Context}. Methods throw {@link WrongThreadException} when the arena is confined to another thread.
 */
public final class Mlx5Device {
    private static final String DRIVER = "mlx5";
    private static final String CREATE_QP = "mlx5dv_create_qp";

    /** What may be asked for. Without these bits the library fills in the flags only. */
    private static final long ASKED = mlx5dv_h.MLX5DV_CONTEXT_MASK_CQE_COMPRESION()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_SWP()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_STRIDING_RQ()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_DYN_BFREGS()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_DCI_STREAMS()
            | mlx5dv_h.MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM();

    private final Context context;

    private Mlx5Device(Context context) {
        this.context = context;
    }

    /**
     * Returns whether a device is a ConnectX device.
     *
     * @param context the open device
     * @return true if its driver is mlx5
     */
    public static boolean isMlx5(Context context) {
        return context.driverName().equals(DRIVER);
    }

    /**
     * Returns a ConnectX device.
     *
     * @param context the open device
     * @return what its driver adds
     * @throws IllegalArgumentException when the device has another driver
     */
    @CheckReturnValue
    public static Mlx5Device of(Context context) {
        if (!isMlx5(context)) {
            throw new IllegalArgumentException(
                    "the driver of the device must be mlx5: " + context + " has " + context.driverName());
        }
        return new Mlx5Device(context);
    }

    /** {@return the open device} */
    public Context context() {
        return context;
    }

    /**
     * Queries the limits and capabilities of the device; see mlx5dv_query_device(3).
     *
     * @return a snapshot
     * @throws org.rdmapanama.VerbsException when the function fails
     * @throws IllegalStateException when the device is closed
     */
    public Mlx5DeviceAttributes queryDevice() {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment struct = temporary.allocate(mlx5dv_context.layout());
            DriverObjects.call(context, "mlx5dv_query_device", "the driver mlx5", () -> query(struct));
            return Mlx5DeviceAttributes.read(struct);
        }
    }

    private int query(MemorySegment struct) {
        mlx5dv_context.comp_mask(struct, ASKED);
        return Libmlx5.queryDevice(context.nativeAddress(), struct.address());
    }

    /**
     * Creates an extended completion queue whose entries have a size of the program's choice; see mlx5dv_create_cq(3). The
     * queues here are not compressed: libmlx5 cannot read compressed completions.
     *
     * @param options the options of the core
     * @param mlx5Options the options of this device
     * @return the new object
     * @throws IllegalArgumentException when an object among the options belongs to another context, or when padding is asked
     *     for with entries of another size than 128 bytes
     * @throws IllegalStateException when the device or an object among the options is closed
     * @throws UnsupportedOperationException when padding is asked for and the device does not have {@link
     *     Mlx5Capability#CQE_128_BYTES_PADDING}, or when the device does not support another option
     * @throws org.rdmapanama.VerbsException when the function fails otherwise
     * @throws NullPointerException when an argument is null
     */
    @CheckReturnValue
    public ExtendedCompletionQueue createCompletionQueue(
            CompletionQueueOptions options, Mlx5CompletionQueueOptions mlx5Options) {
        mlx5Options.check();
        if (mlx5Options.padding() && !queryDevice().capabilities().contains(Mlx5Capability.CQE_128_BYTES_PADDING)) {
            throw new UnsupportedOperationException(
                    context + " cannot pad completions; look for CQE_128_BYTES_PADDING in"
                            + " Mlx5DeviceAttributes.capabilities, and leave Mlx5CompletionQueueOptions.padding out");
        }
        return DriverObjects.createCompletionQueue(
                context, options, new DriverFunction("mlx5dv_create_cq", attributes -> {
                    try (Arena temporary = Arena.ofConfined()) {
                        MemorySegment special = temporary.allocate(mlx5dv_cq_init_attr.layout());
                        long mask = 0;
                        if (mlx5Options.entryBytes() > 0) {
                            mask |= mlx5dv_h.MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE();
                            mlx5dv_cq_init_attr.cqe_size(special, (short) mlx5Options.entryBytes());
                        }
                        if (mlx5Options.padding()) {
                            mask |= mlx5dv_h.MLX5DV_CQ_INIT_ATTR_MASK_FLAGS();
                            mlx5dv_cq_init_attr.flags(special, mlx5dv_h.MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD());
                        }
                        mlx5dv_cq_init_attr.comp_mask(special, mask);
                        return Libmlx5.createCq(context.nativeAddress(), attributes, special.address());
                    }
                }));
    }

    /**
     * Creates an initiator of the dynamically connected transport, a DCI; see mlx5dv_create_qp(3). It starts in state RESET,
     * and {@link QueuePair#activate()} moves it on. Each send must name a {@linkplain
     * org.rdmapanama.WorkRequestBuilder#toTarget target}. It receives nothing: what the options say of receives is not
     * used. An error moves it to state ERR, whichever target it was for.
     *
     * @param protectionDomain the owner of its memory and of its address handles
     * @param options of type {@link QueuePairType#DRIVER}, with the operations to post, at least one
     * @return the new object
     * @throws IllegalArgumentException when the type is another one, when an object belongs to another context, when there
     *     are no send operations, or when a completion queue is direct
     * @throws IllegalStateException when an object is closed, or another thread has a batch open on a completion queue and
     *     does not end it within two seconds
     * @throws org.rdmapanama.UnsupportedVerbException when the driver does not support the operations
     * @throws org.rdmapanama.VerbsException when the function fails otherwise, for example because a size exceeds the
     *     limits of the device, or because it has no such transport
     */
    @CheckReturnValue
    public ExtendedQueuePair createDcInitiator(ProtectionDomain protectionDomain, QueuePairOptions options) {
        requireSame(protectionDomain);
        return createDcInitiator(protectionDomain, options, queryDevice().dc());
    }

    /** With limits that a device or a library may have. */
    ExtendedQueuePair createDcInitiator(ProtectionDomain protectionDomain, QueuePairOptions options, DcLimits limits) {
        return DriverObjects.createDcInitiator(
                protectionDomain,
                options,
                new DriverFunction(CREATE_QP, attributes -> {
                    MemorySegment struct = requireDriver(attributes);
                    ibv_qp_init_attr_ex.srq(struct, MemorySegment.NULL);
                    MemorySegment sizes = ibv_qp_init_attr_ex.cap(struct);
                    ibv_qp_cap.max_recv_wr(sizes, 0);
                    ibv_qp_cap.max_recv_sge(sizes, 0);
                    return createDc(
                            attributes, special -> mlx5dv_dc_init_attr.dc_type(special, mlx5dv_h.MLX5DV_DCTYPE_DCI()));
                }),
                initiator(limits));
    }

    private static DcRole.Initiator initiator(DcLimits limits) {
        return new DcRole.Initiator(Mlx5Device::addressing, toInt(limits.maxReadAtomicAsInitiator()));
    }

    private static int toInt(long limit) {
        return (int) Math.min(limit, Integer.MAX_VALUE);
    }

    /**
     * Wraps an initiator that other code in this process has created, by mlx5dv_create_qp(3).
     *
     * @param protectionDomain the protection domain in which it was created
     * @param sendQueue the completion queue of its sends
     * @param receiveQueue the completion queue that it was created with for receives, though it takes none
     * @param sendOperations the operations that it was created for, which cannot be queried; posting any other crashes
     *     the process
     * @param nativeAddress address of the {@code struct ibv_qp}, which must be that of an initiator: this cannot be found out
     * @param ownership whether closing this object destroys the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, when the native queue pair is of
     *     another type, belongs to another protection domain or to other completion queues, or was created without send
     *     operations, or when an object belongs to another context
     * @throws NullPointerException when an argument is null
     * @throws org.rdmapanama.VerbsException when the queue pair cannot be queried
     * @throws IllegalStateException when the protection domain or a completion queue is closed
     */
    public ExtendedQueuePair initiatorOfNativeAddress(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership) {
        requireSame(protectionDomain);
        Objects.requireNonNull(receiveQueue, "receiveQueue");
        return DriverObjects.wrapDcInitiator(
                protectionDomain,
                sendQueue,
                receiveQueue,
                sendOperations,
                nativeAddress,
                ownership,
                initiator(queryDevice().dc()));
    }

    /** Finds the function of a queue pair once, because each send calls it. */
    private static DcRole.TargetSetter addressing(long extended) {
        long queuePair = Libmlx5.qpExFromIbvQpEx(extended);
        MemorySegment function = mlx5dv_qp_ex.wr_set_dc_addr(Native.struct(queuePair, mlx5dv_qp_ex.layout()));
        return (handle, number, accessKey) -> Libmlx5.wrSetDcAddr(function, queuePair, handle, number, accessKey);
    }

    /**
     * Creates a target of the dynamically connected transport, a DCT; see mlx5dv_create_qp(3). It starts in state RESET, and
     * {@link QueuePair#activate()} moves it to RTR, in which it receives and has a number. It sends nothing: what the options
     * say of sends is not used. It stays in RTR until it is closed.
     *
     * @param protectionDomain the domain of the memory that initiators may reach
     * @param options of type {@link QueuePairType#DRIVER}, with a shared receive queue, without send operations
     * @param accessKey what initiators must name, any 64 bits
     * @return the new object
     * @throws IllegalArgumentException when the type is another one, when there is no shared receive queue, when an object
     *     belongs to another context, when send operations are given, or when a completion queue or the shared receive queue
     *     is direct
     * @throws IllegalStateException when an object is closed, or another thread has a batch open on a completion queue and
     *     does not end it within two seconds
     * @throws org.rdmapanama.UnsupportedVerbException when the device does not support the options
     * @throws org.rdmapanama.VerbsException when the function fails otherwise, for example because the device has no such
     *     transport
     */
    @CheckReturnValue
    public QueuePair createDcTarget(ProtectionDomain protectionDomain, QueuePairOptions options, long accessKey) {
        requireSame(protectionDomain);
        return createDcTarget(
                protectionDomain, options, accessKey, queryDevice().dc());
    }

    /** With limits that a device or a library may have. */
    QueuePair createDcTarget(
            ProtectionDomain protectionDomain, QueuePairOptions options, long accessKey, DcLimits limits) {
        return DriverObjects.createDcTarget(
                protectionDomain,
                options,
                new DriverFunction(CREATE_QP, attributes -> {
                    MemorySegment struct = requireDriver(attributes);
                    if (ibv_qp_init_attr_ex.srq(struct).address() == 0) {
                        throw new IllegalArgumentException(
                                "a DC target needs a shared receive queue, from which its receives come;"
                                        + " call QueuePairOptions.sharedReceiveQueue");
                    }
                    ibv_qp_init_attr_ex.cap(struct).fill((byte) 0);
                    return createDc(attributes, special -> {
                        mlx5dv_dc_init_attr.dc_type(special, mlx5dv_h.MLX5DV_DCTYPE_DCT());
                        mlx5dv_dc_init_attr.dct_access_key(special, accessKey);
                    });
                }),
                target(limits));
    }

    private static DcRole.Target target(DcLimits limits) {
        return new DcRole.Target(toInt(limits.maxReadAtomicAsTarget()));
    }

    /**
     * Wraps a target that other code in this process has created, by mlx5dv_create_qp(3).
     *
     * @param protectionDomain the protection domain in which it was created
     * @param sendQueue the completion queue that it was created with for sends, though it has none
     * @param receiveQueue the completion queue of what it receives
     * @param nativeAddress address of the {@code struct ibv_qp}
     * @param ownership whether closing this object destroys the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, when the native queue pair is of
     *     another type or has no shared receive queue, as an initiator has none, when that has no Java object, when the
     *     native queue pair belongs to another protection domain or to other completion queues, or when an object belongs to
     *     another context
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain or a completion queue is closed
     */
    public QueuePair targetOfNativeAddress(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership) {
        requireSame(protectionDomain);
        Objects.requireNonNull(receiveQueue, "receiveQueue");
        return DriverObjects.wrapDcTarget(
                protectionDomain,
                sendQueue,
                receiveQueue,
                nativeAddress,
                ownership,
                target(queryDevice().dc()));
    }

    private void requireSame(ProtectionDomain protectionDomain) {
        if (protectionDomain.context() != context) {
            throw new IllegalArgumentException(protectionDomain + " belongs to another context than " + context);
        }
    }

    private static MemorySegment requireDriver(long attributes) {
        MemorySegment struct = Native.struct(attributes, ibv_qp_init_attr_ex.layout());
        QueuePairType type = QueuePairType.of(ibv_qp_init_attr_ex.qp_type(struct));
        if (type != QueuePairType.DRIVER) {
            throw new IllegalArgumentException("the type of the options must be DRIVER for DC: " + type);
        }
        return struct;
    }

    private long createDc(long attributes, Consumer<MemorySegment> kind) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment special = temporary.allocate(mlx5dv_qp_init_attr.layout());
            mlx5dv_qp_init_attr.comp_mask(special, mlx5dv_h.MLX5DV_QP_INIT_ATTR_MASK_DC());
            kind.accept(mlx5dv_qp_init_attr.dc_init_attr(special));
            return Libmlx5.createQp(context.nativeAddress(), attributes, special.address());
        }
    }

    /** The device. */
    @Override
    public String toString() {
        return "ConnectX device " + context;
    }
}
