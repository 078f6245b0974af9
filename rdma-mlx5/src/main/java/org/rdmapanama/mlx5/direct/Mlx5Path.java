package org.rdmapanama.mlx5.direct;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.mlx5.mlx5dv_cq;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.mlx5.mlx5dv_obj;
import org.rdmapanama.ffm.mlx5.mlx5dv_qp;
import org.rdmapanama.ffm.mlx5.mlx5dv_srq;
import org.rdmapanama.ffm.verbs.ibv_device_attr;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.DirectSharedReceiveQueue;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairType;

/** The direct path of one open device: asks the driver where the rings of its queues are. Threads: any. */
final class Mlx5Path extends DirectPath {
    private static final Set<QueuePairType> TYPES = Set.of(QueuePairType.RC, QueuePairType.UC, QueuePairType.UD);

    private final ProviderContext context;
    private final AddressVectors vectors = new AddressVectors();
    private final boolean atomics;

    /** The register of the driver's page that is not cached, or 0. */
    private final long uncachedRegister;

    /** As this process was started with: changes of the environment that other code made since are not seen. */
    private final BlueFlame.Copying copying = BlueFlame.Copying.of(System::getenv);

    /** The registers of thread domains, by their addresses. The driver frees none before the device is closed. */
    private final Map<Long, BlueFlame> registers = new ConcurrentHashMap<>();

    Mlx5Path(ProviderContext context) {
        this.context = context;
        uncachedRegister = Mlx5dv.uncachedRegister(context.address());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(ibv_device_attr_ex.layout());
            // After a failure the device counts as one without atomics.
            context.queryDevice(attributes.address());
            atomics = ibv_device_attr.atomic_cap(ibv_device_attr_ex.orig_attr(attributes)) != rdma_h.IBV_ATOMIC_NONE();
        }
    }

    @Override
    public DirectCompletionQueue completionQueue(long completionQueue, boolean shared) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(mlx5dv_cq.layout());
            Mlx5dv.describe(mlx5dv_h.MLX5DV_OBJ_CQ(), mlx5dv_obj::cq, completionQueue, found);
            return new CompletionQueueRing(
                    new CompletionQueueRing.Place(
                            completionQueue,
                            mlx5dv_cq.buf(found).address(),
                            mlx5dv_cq.cqe_cnt(found),
                            mlx5dv_cq.cqe_size(found),
                            mlx5dv_cq.dbrec(found).address(),
                            mlx5dv_cq.cq_uar(found).address(),
                            mlx5dv_cq.cqn(found)),
                    shared);
        }
    }

    @Override
    public DirectSharedReceiveQueue sharedReceiveQueue(long sharedReceiveQueue, int maxSegments, boolean shared) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(mlx5dv_srq.layout());
            Mlx5dv.describe(mlx5dv_h.MLX5DV_OBJ_SRQ(), mlx5dv_obj::srq, sharedReceiveQueue, found);
            return new SharedReceiveQueueRing(
                    mlx5dv_srq.buf(found).address(),
                    mlx5dv_srq.stride(found),
                    mlx5dv_srq.dbrec(found).address(),
                    mlx5dv_srq.head(found),
                    mlx5dv_srq.tail(found),
                    maxSegments,
                    shared);
        }
    }

    @Override
    public Set<QueuePairType> types() {
        return TYPES;
    }

    @Override
    public DriverFunction creator(DriverFunction ordinary) {
        return new DriverFunction(
                "mlx5dv_create_qp", attributes -> Mlx5dv.createQueuePair(context.address(), attributes));
    }

    @Override
    public DirectQueuePair queuePair(long queuePair, QueuePairParts parts) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(mlx5dv_qp.layout());
            Mlx5dv.describe(mlx5dv_h.MLX5DV_OBJ_QP(), mlx5dv_obj::qp, queuePair, found);
            MemorySegment struct = Native.struct(queuePair, ibv_qp.layout());
            int number = ibv_qp.qp_num(struct);
            RingQueuePair created = new RingQueuePair(
                    number,
                    sends(found, number, QueuePairType.of(ibv_qp.qp_type(struct)), parts),
                    receives(found, parts),
                    (SharedReceiveQueueRing) parts.sharedReceiveQueue(),
                    (CompletionQueueRing) parts.sendQueue(),
                    (CompletionQueueRing) parts.receiveQueue());
            created.join();
            return created;
        }
    }

    private SendQueueRing sends(MemorySegment found, int number, QueuePairType type, QueuePairParts parts) {
        MemorySegment ring = mlx5dv_qp.sq(found);
        return new SendQueueRing(
                new SendQueueRing.Place(
                        mlx5dv_qp.sq.buf(ring).address(),
                        mlx5dv_qp.sq.wqe_cnt(ring),
                        mlx5dv_qp.dbrec(found).address(),
                        doorbell(found, uncachedRegister, blueFlame(found, parts.driverPosts()))),
                number,
                type,
                parts.granted(),
                parts.signalAll(),
                atomics,
                vectors,
                parts.shared());
    }

    /**
     * Returns where the doorbell of a queue pair is, which the driver chose.
     *
     * @param found what the driver says of the queue pair
     * @param blueFlame what takes whole work requests, or null
     */
    static SendQueueRing.Doorbell doorbell(MemorySegment found, long uncachedRegister, BlueFlame blueFlame) {
        long register = register(found);
        return new SendQueueRing.Doorbell(register, register == uncachedRegister, blueFlame);
    }

    private static long register(MemorySegment found) {
        return mlx5dv_qp.bf.reg(mlx5dv_qp.bf(found)).address();
    }

    /** Returns the register of a thread domain; or null if there is none, or it does not take work requests. */
    private BlueFlame blueFlame(MemorySegment found, AtomicBoolean driverPosts) {
        int halfBytes = mlx5dv_qp.bf.size(mlx5dv_qp.bf(found));
        if (driverPosts == null || halfBytes == 0) {
            return null;
        }
        // The driver gives the register of a thread domain that was closed to another one.
        return registers.compute(
                register(found),
                (address, known) -> known != null && known.isOf(driverPosts)
                        ? known
                        : new BlueFlame(address, halfBytes, copying, driverPosts, known));
    }

    private static ReceiveQueueRing receives(MemorySegment found, QueuePairParts parts) {
        MemorySegment ring = mlx5dv_qp.rq(found);
        return new ReceiveQueueRing(
                mlx5dv_qp.rq.buf(ring).address(),
                mlx5dv_qp.rq.wqe_cnt(ring),
                mlx5dv_qp.rq.stride(ring),
                mlx5dv_qp.dbrec(found).address(),
                parts.granted(),
                parts.shared());
    }
}
