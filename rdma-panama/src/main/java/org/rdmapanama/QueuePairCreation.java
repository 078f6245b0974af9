package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_open_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.QueueStructs;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairAttribute;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.QueuePairInitialAttributes;
import org.rdmapanama.queue.QueuePairType;

/** Where queue pairs come from: creates them, wraps native ones, and opens those of XRC domains. */
final class QueuePairCreation {
    private static final int MAX_NUMBER = 0xff_ffff;

    /** Drivers whose queue pairs of type DRIVER are those of the dynamically connected transport. */
    private static final Set<String> DC_BY_DRIVER = Set.of("mlx5");

    private QueuePairCreation() {}

    /** Makes the Java object for a native one. */
    @FunctionalInterface
    interface Wrapper<T extends QueuePair> {
        T wrap(long address, QueuePairCapabilities granted);
    }

    /** Returns the verb that takes the options. */
    static DriverFunction verb(ProtectionDomain protectionDomain, QueuePairOptions options) {
        ProviderContext provider = protectionDomain.provider;
        return options.needsExtendedCall()
                ? new DriverFunction("ibv_create_qp_ex", provider::createExtendedQueuePair)
                : new DriverFunction(
                        "ibv_create_qp", attributes -> provider.createQueuePair(protectionDomain.address, attributes));
    }

    /**
     * Creates a plain queue pair.
     *
     * @param role of the dynamically connected transport; null for others
     */
    static QueuePair createPlain(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            DriverFunction function,
            @Nullable DcRole role) {
        if (!options.sendOperations().isEmpty()) {
            throw new IllegalArgumentException("options must not name send operations for a plain queue pair: "
                    + options.sendOperations() + "; call ProtectionDomain.createExtendedQueuePair");
        }
        checkType(options, role);
        return create(
                protectionDomain,
                options,
                function,
                (qp, granted) -> new QueuePair(protectionDomain.context, protectionDomain, options, qp, granted, role));
    }

    /** A driver that is not asked, because a completion queue is direct, would not notice. */
    static void checkType(QueuePairOptions options, @Nullable DcRole role) {
        if (role != null && options.type() != QueuePairType.DRIVER) {
            throw new IllegalArgumentException(
                    "the type of a queue pair of the dynamically connected transport must be DRIVER: "
                            + options.type());
        }
    }

    static <T extends QueuePair> T create(
            ProtectionDomain protectionDomain, QueuePairOptions options, DriverFunction function, Wrapper<T> wrapper) {
        List<ContextObject> uses = options.uses();
        uses.forEach(protectionDomain::requireSameContext);
        Context context = protectionDomain.context;
        DirectPath path = DirectQueues.check(context, options);
        DriverFunction creator = path == null ? function : path.creator(function);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_init_attr_ex.layout());
            options.write(attributes, protectionDomain.address, temporary);
            Supplier<T> maker = () -> context.create(
                    new Creation(creator.name(), QueuePair.ENDING)
                            .arguments(options::toString)
                            .cures(errno -> cureOfCreate(context, errno))
                            .capability(options.capability()),
                    () -> {
                        protectionDomain.checkOpen();
                        uses.forEach(ContextObject::checkOpen);
                        return creator.call().applyAsLong(attributes.address());
                    },
                    qp -> wrapper.wrap(qp, QueueStructs.readCapabilities(ibv_qp_init_attr.cap(attributes))));
            // Some drivers, such as efa and mana, register the queue pair in its completion queues.
            return ClearedQueues.of(options.sendQueue(), options.receiveQueue())
                    .create(protectionDomain, context.arena.lock(), maker);
        } catch (VerbsException e) {
            throw explained(context, options, creator.name(), e);
        }
    }

    /** A device that does not support these types may report EINVAL. */
    private static RuntimeException explained(
            Context context, QueuePairOptions options, String verb, VerbsException e) {
        boolean xrc = options.type() == QueuePairType.XRC_SEND || options.type() == QueuePairType.XRC_RECV;
        boolean unknown = xrc && (context.queryDevice().deviceCapabilityFlags() & rdma_h.IBV_DEVICE_XRC()) == 0;
        return unknown && e.errno() == Errno.EINVAL
                ? new UnsupportedVerbException(
                        verb, e.errno(), context.deviceName(), options.toString(), options.capability())
                : e;
    }

    private static @Nullable String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL) {
            DeviceAttributes device = context.queryDevice();
            return "the device allows at most " + device.maxWorkRequests() + " work requests and "
                    + device.maxSegments() + " segments, and may allow less inline data";
        }
        if (errno == Errno.ENOMEM) {
            return RegistrableMemory.cureOfTooMany("queue pairs");
        }
        return null;
    }

    /** Creates an object from the options of a native queue pair. */
    @FunctionalInterface
    interface OptionsMapper<T extends QueuePair> {
        T map(QueuePairOptions options);
    }

    /**
     * Wraps a plain queue pair.
     *
     * @param role of the dynamically connected transport; null for others
     */
    static QueuePair wrapPlain(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership,
            @Nullable DcRole role) {
        return wrap(
                protectionDomain,
                sendQueue,
                receiveQueue,
                nativeAddress,
                ownership,
                role,
                options -> new QueuePair(
                        protectionDomain.context, protectionDomain, options, nativeAddress, options.sizes(), role));
    }

    static <T extends QueuePair> T wrap(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            long nativeAddress,
            Ownership ownership,
            @Nullable DcRole role,
            OptionsMapper<T> wrapper) {
        protectionDomain.requireSameContext(sendQueue);
        if (receiveQueue != null) {
            protectionDomain.requireSameContext(receiveQueue);
        }
        Context context = protectionDomain.context;
        return context.wrap(nativeAddress, ownership, qp -> {
            protectionDomain.checkOpen();
            sendQueue.checkOpen();
            if (receiveQueue != null) {
                receiveQueue.checkOpen();
            }
            MemorySegment struct = Native.struct(qp, ibv_qp.layout());
            requireSame(protectionDomain, ibv_qp.pd(struct));
            requireSame(sendQueue, ibv_qp.send_cq(struct));
            requireSame(receiveQueue, ibv_qp.recv_cq(struct));
            DirectQueues.refuseWrapping(sendQueue, receiveQueue);
            requireRole(context, struct, role);
            return wrapper.map(QueuePairOptions.ofExisting(
                    initial(context, qp, role),
                    sendQueue,
                    receiveQueue,
                    sharedReceiveQueueAt(context, ibv_qp.srq(struct).address())));
        });
    }

    /** What is of type DRIVER needs a role where that is how the driver has this transport, and nothing else does. */
    private static void requireRole(Context context, MemorySegment struct, @Nullable DcRole role) {
        boolean isDriver = QueuePairType.of(ibv_qp.qp_type(struct)) == QueuePairType.DRIVER;
        if (role != null && !isDriver) {
            throw new IllegalArgumentException("the native queue pair must be of type DRIVER, as those of the"
                    + " dynamically connected transport are: it is of type "
                    + QueuePairType.of(ibv_qp.qp_type(struct)));
        }
        if (role == null && isDriver && DC_BY_DRIVER.contains(context.driverName())) {
            throw new IllegalArgumentException("the native queue pair is of the dynamically connected transport, whose"
                    + " sends need targets; wrap it with Mlx5Device.initiatorOfNativeAddress or"
                    + " Mlx5Device.targetOfNativeAddress, of the module rdma-mlx5");
        }
        boolean isShared = ibv_qp.srq(struct).address() != 0;
        if (role instanceof DcRole.Target && !isShared) {
            throw new IllegalArgumentException("the native queue pair has no shared receive queue, which every target"
                    + " of the dynamically connected transport has; an initiator has none");
        }
        if (role instanceof DcRole.Initiator && isShared) {
            throw new IllegalArgumentException(
                    "the native queue pair must not have a shared receive queue, by which targets"
                            + " of the dynamically connected transport are told from initiators; wrap a target with"
                            + " Mlx5Device.targetOfNativeAddress");
        }
    }

    /** Drivers do not tell sizes of a target, which has none. */
    private static QueuePairInitialAttributes initial(Context context, long address, @Nullable DcRole role) {
        return role instanceof DcRole.Target
                ? new QueuePairInitialAttributes(QueuePairType.DRIVER, new QueuePairCapabilities(0, 0, 0, 0, 0), false)
                : QueuePairControl.queryInitial(context, address, QueuePairAttribute.CAP);
    }

    private static void requireSame(@Nullable ContextObject expected, MemorySegment pointer) {
        if (pointer.address() != (expected == null ? 0 : expected.address)) {
            throw new IllegalArgumentException(
                    expected == null
                            ? "receiveQueue must not be null: the native queue pair has a receive queue"
                            : "the native queue pair does not belong to " + expected);
        }
    }

    private static @Nullable SharedReceiveQueue sharedReceiveQueueAt(Context context, long address) {
        if (address == 0) {
            return null;
        }
        if (context.find(address) instanceof SharedReceiveQueue queue) {
            return queue;
        }
        throw new IllegalArgumentException("the native queue pair uses a shared receive queue that has no Java object;"
                + " create one first with SharedReceiveQueue.ofNativeAddress");
    }

    /** For {@link QueuePair#ofNativeAddress(XrcDomain, long, Ownership)}. */
    static QueuePair wrap(XrcDomain domain, long nativeAddress, Ownership ownership) {
        Context context = domain.context;
        return context.wrap(nativeAddress, ownership, qp -> {
            domain.checkOpen();
            QueuePairOptions options = QueuePairOptions.xrcReceive(domain);
            return new QueuePair(context, null, options, qp, options.sizes(), null);
        });
    }

    /** For {@link XrcDomain#openQueuePair}. */
    static QueuePair open(XrcDomain xrcDomain, int number) {
        if (number < 0 || number > MAX_NUMBER) {
            throw new IllegalArgumentException("queue pair number must be between 0 and 0xffffff: " + number);
        }
        Context context = xrcDomain.context;
        QueuePairOptions options = QueuePairOptions.xrcReceive(xrcDomain);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_qp_open_attr.layout());
            ibv_qp_open_attr.comp_mask(
                    attributes,
                    rdma_h.IBV_QP_OPEN_ATTR_NUM() | rdma_h.IBV_QP_OPEN_ATTR_XRCD() | rdma_h.IBV_QP_OPEN_ATTR_TYPE());
            ibv_qp_open_attr.qp_num(attributes, number);
            ibv_qp_open_attr.xrcd(attributes, MemorySegment.ofAddress(xrcDomain.address));
            ibv_qp_open_attr.qp_type(attributes, options.type().code());
            return context.create(
                    new Creation("ibv_open_qp", QueuePair.ENDING)
                            .arguments(() -> "number " + number)
                            .capability(QueuePairOptions.capability(options.type())),
                    () -> {
                        xrcDomain.checkOpen();
                        return context.provider().openQueuePair(attributes.address());
                    },
                    qp -> new QueuePair(context, null, options, qp, options.sizes(), null));
        }
    }
}
