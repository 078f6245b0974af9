package org.rdmapanama.efa;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import org.rdmapanama.AddressHandle;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.ExtendedCompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.PollCursor;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.efa.direct.SourceGid;
import org.rdmapanama.efa.internal.Libefa;
import org.rdmapanama.ffm.efa.efadv_ah_attr;
import org.rdmapanama.ffm.efa.efadv_cq;
import org.rdmapanama.ffm.efa.efadv_cq_init_attr;
import org.rdmapanama.ffm.efa.efadv_device_attr;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.ffm.efa.efadv_qp_init_attr;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.internal.provider.DriverObjects;
import org.rdmapanama.queue.QueuePairType;

/**
 * An open EFA device, and what its driver adds to verbs; see efadv(7).
 *
 * <p>The transport of EFA is SRD, scalable reliable datagrams: acknowledged, in any order, to any peer. A queue pair of that
 * type has no peer of its own. Each send names an address handle, the number of the peer's queue pair and its Q_Key, and
 * must be {@linkplain org.rdmapanama.SendWorkRequest#signaled signaled}. RDMA reads need an {@link ExtendedQueuePair}.
 *
 * <p>{@snippet :
 * EfaDevice efa = EfaDevice.of(context);
 * QueuePair qp = efa.createQueuePair(pd, new QueuePairOptions(QueuePairType.DRIVER, queue).signalAll(true));
 * qp.activate();
 * AddressHandle peer = pd.createAddressHandle(qp.pathTo(peerEndpoint));
 * qp.postSend(SendWorkRequest.allocate(arena, 1)
 *         .send()
 *         .add(region, 0, 64)
 *         .to(peer, peerEndpoint.queuePairNumber(), qkey));
 * }
 *
 * <p>Queue pairs whose completion queues are {@linkplain CompletionQueueOptions#direct direct} are posted to and polled
 * without the driver. That needs libefa of rdma-core 60 or newer.
 *
 * <p>Threads: as {@link Context}. Methods throw {@link WrongThreadException} when the arena is confined to another thread.
 */
public final class EfaDevice {
    private static final String DRIVER = "efa";
    private static final String CAPABILITIES = "EfaDeviceAttributes.capabilities";

    private final Context context;

    private EfaDevice(Context context) {
        this.context = context;
    }

    /**
     * Returns whether a device is an EFA device.
     *
     * @param context the open device
     * @return true if its driver is that of EFA
     */
    public static boolean isEfa(Context context) {
        return context.driverName().equals(DRIVER);
    }

    /**
     * Returns an EFA device.
     *
     * @param context the open device
     * @return what its driver adds
     * @throws IllegalArgumentException when the device has another driver
     */
    @CheckReturnValue
    public static EfaDevice of(Context context) {
        if (!isEfa(context)) {
            throw new IllegalArgumentException(
                    "the driver of the device must be efa: " + context + " has " + context.driverName());
        }
        return new EfaDevice(context);
    }

    /** {@return the open device} */
    public Context context() {
        return context;
    }

    /**
     * Queries the limits and capabilities of the device; see efadv_query_device(3).
     *
     * @return a snapshot
     * @throws org.rdmapanama.VerbsException when the function fails
     * @throws IllegalStateException when the device is closed
     */
    public EfaDeviceAttributes queryDevice() {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment struct = temporary.allocate(efadv_device_attr.layout());
            DriverObjects.call(
                    context,
                    "efadv_query_device",
                    "the driver of EFA",
                    () -> Libefa.queryDevice(
                            context.nativeAddress(), struct.address(), (int) efadv_device_attr.sizeof()));
            return EfaDeviceAttributes.read(struct);
        }
    }

    /**
     * Creates an SRD queue pair; see efadv_create_qp_ex(3). It starts in state RESET, and {@link QueuePair#activate} moves
     * it on. It carries sends, with and without immediate data.
     *
     * @param protectionDomain the owner of its memory and of its address handles
     * @param options of type {@link QueuePairType#DRIVER}, without send operations
     * @return the new object
     * @throws IllegalArgumentException when the type is another one, when an object belongs to another context, or when
     *     send operations are given
     * @throws IllegalStateException when an object is closed, or another thread has a batch open on a completion queue and
     *     does not end it within two seconds
     * @throws org.rdmapanama.UnsupportedVerbException when the device does not support the options
     * @throws org.rdmapanama.VerbsException when the function fails otherwise, for example because a size exceeds the
     *     limits of {@link #queryDevice}
     */
    @CheckReturnValue
    public QueuePair createQueuePair(ProtectionDomain protectionDomain, QueuePairOptions options) {
        requireSame(protectionDomain);
        return DriverObjects.createQueuePair(protectionDomain, options, srd());
    }

    /**
     * Creates an SRD queue pair whose sends can also be posted call by call, RDMA reads among them; see
     * efadv_create_qp_ex(3). It starts in state RESET, and {@link QueuePair#activate} moves it on.
     *
     * @param protectionDomain the owner of its memory and of its address handles
     * @param options of type {@link QueuePairType#DRIVER}, with the operations to post, at least one
     * @return the new object
     * @throws IllegalArgumentException when the type is another one, when an object belongs to another context, or when
     *     there are no send operations
     * @throws IllegalStateException when an object is closed, or another thread has a batch open on a completion queue and
     *     does not end it within two seconds
     * @throws org.rdmapanama.UnsupportedVerbException when the device does not support the options; RDMA reads and writes
     *     need {@link EfaCapability#RDMA_READ} and {@link EfaCapability#RDMA_WRITE}
     * @throws org.rdmapanama.VerbsException when the function fails otherwise, for example because a size exceeds the
     *     limits of {@link #queryDevice}
     */
    @CheckReturnValue
    public ExtendedQueuePair createExtendedQueuePair(ProtectionDomain protectionDomain, QueuePairOptions options) {
        requireSame(protectionDomain);
        return DriverObjects.createExtendedQueuePair(protectionDomain, options, srd());
    }

    private void requireSame(ProtectionDomain protectionDomain) {
        if (protectionDomain.context() != context) {
            throw new IllegalArgumentException(protectionDomain + " belongs to another context than " + context);
        }
    }

    private DriverFunction srd() {
        return new DriverFunction("efadv_create_qp_ex", attributes -> {
            MemorySegment options = Native.struct(attributes, ibv_qp_init_attr_ex.layout());
            QueuePairType type = QueuePairType.of(ibv_qp_init_attr_ex.qp_type(options));
            if (type != QueuePairType.DRIVER) {
                throw new IllegalArgumentException("the type of the options must be DRIVER for SRD: " + type);
            }
            try (Arena temporary = Arena.ofConfined()) {
                MemorySegment efa = temporary.allocate(efadv_qp_init_attr.layout());
                efadv_qp_init_attr.driver_qp_type(efa, efadv_h.EFADV_QP_DRIVER_TYPE_SRD());
                return Libefa.createQpEx(
                        context.nativeAddress(), attributes, efa.address(), (int) efadv_qp_init_attr.sizeof());
            }
        });
    }

    /**
     * Creates an extended completion queue whose completions tell the GID of an unknown sender; see efadv_create_cq(3) and
     * {@link #sourceGid}.
     *
     * @param options the options
     * @return the new object
     * @throws IllegalArgumentException when an object among the options belongs to another context
     * @throws IllegalStateException when the device or an object among the options is closed
     * @throws org.rdmapanama.UnsupportedVerbException when the device does not support the options; it needs {@link
     *     EfaCapability#CQ_WITH_SGID}
     * @throws org.rdmapanama.VerbsException when the function fails otherwise
     */
    @CheckReturnValue
    public ExtendedCompletionQueue createCompletionQueueWithSourceGid(CompletionQueueOptions options) {
        return DriverObjects.createCompletionQueue(
                context, options, new DriverFunction("efadv_create_cq", attributes -> {
                    try (Arena temporary = Arena.ofConfined()) {
                        MemorySegment efa = temporary.allocate(efadv_cq_init_attr.layout());
                        efadv_cq_init_attr.wc_flags(efa, efadv_h.EFADV_WC_EX_WITH_SGID());
                        return Libefa.createCq(
                                context.nativeAddress(), attributes, efa.address(), (int) efadv_cq_init_attr.sizeof());
                    }
                }));
    }

    /**
     * Returns the GID of the sender of the current completion, if there was no address handle for it when the message came;
     * see efadv_create_cq(3).
     *
     * @param cursor the cursor of a queue of {@link #createCompletionQueueWithSourceGid}
     * @return the GID; empty when an address handle for the sender exists, or the completion is not that of a receive
     * @throws IllegalArgumentException when the queue was created otherwise
     * @throws IllegalStateException when the queue is closed, or the calling thread has no batch open with a current
     *     completion
     */
    public Optional<Gid> sourceGid(PollCursor cursor) {
        ExtendedCompletionQueue queue = DriverObjects.queueOf(cursor);
        if (queue.context() != context) {
            throw new IllegalArgumentException(queue + " belongs to another context than " + context);
        }
        long efaQueue = Libefa.cqFromIbvCqEx(queue.nativeAddress());
        MemorySegment function = efadv_cq.wc_read_sgid(Native.struct(efaQueue, efadv_cq.layout()));
        if (function.address() == 0) {
            throw new IllegalArgumentException(
                    queue + " was created without the GID of senders; call createCompletionQueueWithSourceGid");
        }
        if (cursor.opcode() != CompletionOpcode.RECV) {
            return Optional.empty();
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment gid = temporary.allocate(Gid.BYTES);
            DirectCompletionQueue direct = DriverObjects.directOf(queue);
            boolean unknown = direct == null
                    ? Libefa.readSgid(function, efaQueue, gid.address()) >= 0
                    : SourceGid.read(direct, gid.address());
            return unknown ? Optional.of(Gid.of(gid.toArray(JAVA_BYTE))) : Optional.empty();
        }
    }

    /**
     * Returns the number that the device has given an address handle; see efadv_query_ah(3). The source LID of a received
     * message is the number of the handle of its sender.
     *
     * @param handle an address handle of this device
     * @return 16 bits
     * @throws IllegalArgumentException when it belongs to another context
     * @throws org.rdmapanama.VerbsException when the function fails
     * @throws IllegalStateException when the handle is closed
     */
    public int addressHandleNumber(AddressHandle handle) {
        if (Objects.requireNonNull(handle, "handle").context() != context) {
            throw new IllegalArgumentException(handle + " belongs to another context than " + context);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment struct = temporary.allocate(efadv_ah_attr.layout());
            DriverObjects.call(
                    handle,
                    "efadv_query_ah",
                    CAPABILITIES,
                    () -> Libefa.queryAh(handle.nativeAddress(), struct.address(), (int) efadv_ah_attr.sizeof()));
            return Short.toUnsignedInt(efadv_ah_attr.ahn(struct));
        }
    }

    /** The device. */
    @Override
    public String toString() {
        return "EFA device " + context;
    }
}
