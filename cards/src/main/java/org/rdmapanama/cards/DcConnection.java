package org.rdmapanama.cards;

import static org.rdmapanama.cards.CommandException.check;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;

/**
 * What a card makes between an initiator and a target of the dynamically connected transport: a connection, here of two queue
 * pairs of soft0 of type RC, which no program knows. What they complete counts as the initiator's and the target's.
 */
final class DcConnection {
    private static final int SEGMENTS = 30;
    private static final int READS = 16;

    /** One of the two queue pairs. */
    private record End(DeviceFile file, long softPair, int number) {
        static End create(Arena arena, DeviceFile file, CardQueuePair owner, CardCompletionQueue completions)
                throws CommandException {
            Card.QueuePairRequest request = owner.request();
            MemorySegment init = arena.allocate(ibv_qp_init_attr.layout());
            MemorySegment queue = MemorySegment.ofAddress(completions.softQueue());
            ibv_qp_init_attr.send_cq(init, queue);
            ibv_qp_init_attr.recv_cq(init, queue);
            ibv_qp_init_attr.qp_type(init, rdma_h.IBV_QPT_RC());
            if (request.shared() != null) {
                ibv_qp_init_attr.srq(
                        init, MemorySegment.ofAddress(request.shared().softQueue()));
            }
            MemorySegment cap = ibv_qp_init_attr.cap(init);
            ibv_qp_cap.max_send_wr(cap, Math.max(1, request.sends()));
            ibv_qp_cap.max_send_sge(cap, SEGMENTS);
            ibv_qp_cap.max_inline_data(cap, Mlx5Card.DESCRIPTOR_BYTES);
            long pair = check(file.soft().createQueuePair(request.protectionDomain(), init.address()));
            int number = ibv_qp.qp_num(Native.struct(pair, ibv_qp.layout()));
            file.hide(pair, number, owner);
            return new End(file, pair, number);
        }

        void modify(MemorySegment attributes, int mask) throws CommandException {
            check(file.soft().modifyQueuePair(softPair, attributes.address(), mask | rdma_h.IBV_QP_STATE()));
        }

        void destroy() {
            file.reveal(softPair, number);
            file.soft().destroyQueuePair(softPair);
        }
    }

    /**
     * A GID, as it is in memory.
     *
     * @param first its first eight bytes
     */
    record RawGid(long first, long second) {
        static RawGid at(long address) {
            return new RawGid(Memory.getLong(address), Memory.getLong(address + Long.BYTES));
        }

        void writeTo(long address) {
            Memory.putLong(address, first);
            Memory.putLong(address + Long.BYTES, second);
        }
    }

    /**
     * What the two sides say of the path between them.
     *
     * @param gid that of the other side
     * @param sourceIndex that of the own GID
     */
    record Path(RawGid gid, int sourceIndex) {}

    private final Mlx5DcTarget target;
    private final End initiating;
    private final End answering;

    private DcConnection(Mlx5DcTarget target, End initiating, End answering) {
        this.target = target;
        this.initiating = initiating;
        this.answering = answering;
    }

    /**
     * Connects.
     *
     * @param sender what the initiator was modified with, a struct ibv_qp_attr
     * @throws CommandException if soft0 refuses it; nothing is left then
     */
    static DcConnection open(
            DeviceFile file,
            CardQueuePair initiator,
            MemorySegment sender,
            Path toTarget,
            Mlx5DcTarget target,
            Path toInitiator)
            throws CommandException {
        List<End> ends = new ArrayList<>();
        try (Arena arena = Arena.ofConfined()) {
            End initiating =
                    End.create(arena, file, initiator, initiator.request().sendCompletions());
            ends.add(initiating);
            End answering =
                    End.create(arena, target.file(), target, target.request().receiveCompletions());
            ends.add(answering);
            MemorySegment receiver = target.attributes();
            initialize(arena, initiating, 0);
            initialize(arena, answering, ibv_qp_attr.qp_access_flags(receiver));
            receive(arena, answering, initiating, receiver, toInitiator);
            receive(arena, initiating, answering, sender, toTarget);
            send(arena, initiating, sender);
            DcConnection made = new DcConnection(target, initiating, answering);
            target.add(made);
            return made;
        } catch (CommandException ex) {
            ends.forEach(End::destroy);
            throw ex;
        }
    }

    private static void initialize(Arena arena, End end, int access) throws CommandException {
        MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(attributes, rdma_h.IBV_QPS_INIT());
        ibv_qp_attr.port_num(attributes, (byte) 1);
        ibv_qp_attr.qp_access_flags(attributes, access);
        end.modify(attributes, rdma_h.IBV_QP_PKEY_INDEX() | rdma_h.IBV_QP_PORT() | rdma_h.IBV_QP_ACCESS_FLAGS());
    }

    private static void receive(Arena arena, End end, End peer, MemorySegment given, Path path)
            throws CommandException {
        MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(attributes, rdma_h.IBV_QPS_RTR());
        ibv_qp_attr.path_mtu(attributes, ibv_qp_attr.path_mtu(given));
        ibv_qp_attr.dest_qp_num(attributes, peer.number);
        ibv_qp_attr.max_dest_rd_atomic(attributes, (byte) READS);
        ibv_qp_attr.min_rnr_timer(attributes, ibv_qp_attr.min_rnr_timer(given));
        MemorySegment address = ibv_qp_attr.ah_attr(attributes);
        ibv_ah_attr.is_global(address, (byte) 1);
        ibv_ah_attr.port_num(address, (byte) 1);
        MemorySegment route = ibv_ah_attr.grh(address);
        path.gid.writeTo(ibv_global_route.dgid(route).address());
        ibv_global_route.sgid_index(route, (byte) path.sourceIndex);
        ibv_global_route.hop_limit(route, (byte) -1);
        end.modify(
                attributes,
                rdma_h.IBV_QP_AV()
                        | rdma_h.IBV_QP_PATH_MTU()
                        | rdma_h.IBV_QP_DEST_QPN()
                        | rdma_h.IBV_QP_RQ_PSN()
                        | rdma_h.IBV_QP_MAX_DEST_RD_ATOMIC()
                        | rdma_h.IBV_QP_MIN_RNR_TIMER());
    }

    private static void send(Arena arena, End end, MemorySegment given) throws CommandException {
        MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
        ibv_qp_attr.qp_state(attributes, rdma_h.IBV_QPS_RTS());
        ibv_qp_attr.timeout(attributes, ibv_qp_attr.timeout(given));
        ibv_qp_attr.retry_cnt(attributes, ibv_qp_attr.retry_cnt(given));
        ibv_qp_attr.rnr_retry(attributes, ibv_qp_attr.rnr_retry(given));
        ibv_qp_attr.max_rd_atomic(attributes, ibv_qp_attr.max_rd_atomic(given));
        end.modify(
                attributes,
                rdma_h.IBV_QP_SQ_PSN()
                        | rdma_h.IBV_QP_TIMEOUT()
                        | rdma_h.IBV_QP_RETRY_CNT()
                        | rdma_h.IBV_QP_RNR_RETRY()
                        | rdma_h.IBV_QP_MAX_QP_RD_ATOMIC());
    }

    Mlx5DcTarget target() {
        return target;
    }

    /** Returns the soft0 queue pair that sends. */
    long softPair() {
        return initiating.softPair;
    }

    /** Flushes what was sent and is not complete. */
    void fail() {
        initiating.file.fail(initiating.softPair);
    }

    /** Disconnects at the initiator's end, and tells the target. */
    void close() {
        initiating.destroy();
        if (target.remove(this)) {
            answering.destroy();
        }
    }

    /** Disconnects at the target's end: sends are answered by nobody from now on. */
    void targetClosed() {
        answering.destroy();
    }
}
