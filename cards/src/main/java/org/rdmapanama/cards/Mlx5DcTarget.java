package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.Set;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_global_route;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * A target of the dynamically connected transport: it has no rings of its own. Its soft0 queue pair keeps the state, and each
 * initiator that has found it has a connection to it.
 */
final class Mlx5DcTarget implements CardQueuePair {
    private final Mlx5Card card;
    private final DeviceFile file;
    private final Card.QueuePairRequest request;
    private final int userIndex;
    private final long accessKey;

    /** What it was modified with, a struct ibv_qp_attr. */
    private final Arena arena = Arena.ofShared();

    private final MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
    private final Set<DcConnection> connections = new LinkedHashSet<>();
    private int state = rdma_h.IBV_QPS_RESET();

    Mlx5DcTarget(Mlx5Card card, DeviceFile file, Card.QueuePairRequest request) {
        this.card = card;
        this.file = file;
        this.request = request;
        View in = Mlx5QueuePair.REQUEST.at(request.in());
        userIndex = in.getInt("uidx");
        // In the same place.
        accessKey = in.get("sq_buf_addr");
    }

    DeviceFile file() {
        return file;
    }

    @Override
    public Card.QueuePairRequest request() {
        return request;
    }

    MemorySegment attributes() {
        return attributes;
    }

    long accessKey() {
        return accessKey;
    }

    /** Returns the index of its own GID, from which it answers. */
    int sourceIndex() {
        return ibv_global_route.sgid_index(ibv_ah_attr.grh(ibv_qp_attr.ah_attr(attributes))) & 0xff;
    }

    void add(DcConnection connection) {
        connections.add(connection);
    }

    /** Returns whether the connection was still there. */
    boolean remove(DcConnection connection) {
        return connections.remove(connection);
    }

    @Override
    public void noteSends() {
        // It sends nothing.
    }

    @Override
    public boolean takeReceives() {
        return false;
    }

    @Override
    public boolean executeSends() {
        return false;
    }

    /** Initiators do not find it any more. */
    @Override
    public void fail() {
        card.forget(this);
        connections.forEach(DcConnection::targetClosed);
        connections.clear();
    }

    @Override
    public void close() {
        fail();
        arena.close();
    }

    @Override
    public boolean completesIn(CardCompletionQueue queue) {
        return request.receiveCompletions().equals(queue);
    }

    /** A real card creates it only on the way to RTR. */
    @Override
    public int numberWhenCreated() {
        return 0;
    }

    @Override
    public int userIndex() {
        return userIndex;
    }

    @Override
    public int softMask(MemorySegment wanted, int mask) throws CommandException {
        DcTransitions.checkTarget(state, ibv_qp_attr.qp_state(wanted), mask);
        return DcTransitions.softMask(mask);
    }

    @Override
    public void modified(MemorySegment wanted, int mask) {
        state = ibv_qp_attr.qp_state(wanted);
        if (state == rdma_h.IBV_QPS_INIT()) {
            ibv_qp_attr.qp_access_flags(attributes, ibv_qp_attr.qp_access_flags(wanted));
            ibv_qp_attr.port_num(attributes, ibv_qp_attr.port_num(wanted));
            ibv_qp_attr.pkey_index(attributes, ibv_qp_attr.pkey_index(wanted));
            return;
        }
        ibv_qp_attr.path_mtu(attributes, ibv_qp_attr.path_mtu(wanted));
        ibv_qp_attr.min_rnr_timer(attributes, ibv_qp_attr.min_rnr_timer(wanted));
        MemorySegment.copy(ibv_qp_attr.ah_attr(wanted), 0, ibv_qp_attr.ah_attr(attributes), 0, ibv_ah_attr.sizeof());
        card.publish(this);
    }

    /** As the driver in the kernel answers: nothing that was not asked for, and nothing of the path. */
    @Override
    public void correctQuery(int mask, MemorySegment told) throws CommandException {
        DcTransitions.checkQueryOfTarget(state, mask);
        told.fill((byte) 0);
        if ((mask & rdma_h.IBV_QP_STATE()) != 0) {
            ibv_qp_attr.qp_state(told, state);
        }
        if ((mask & rdma_h.IBV_QP_ACCESS_FLAGS()) != 0) {
            ibv_qp_attr.qp_access_flags(told, ibv_qp_attr.qp_access_flags(attributes));
        }
        if ((mask & rdma_h.IBV_QP_PORT()) != 0) {
            ibv_qp_attr.port_num(told, ibv_qp_attr.port_num(attributes));
        }
        if ((mask & rdma_h.IBV_QP_PKEY_INDEX()) != 0) {
            ibv_qp_attr.pkey_index(told, ibv_qp_attr.pkey_index(attributes));
        }
        if ((mask & rdma_h.IBV_QP_PATH_MTU()) != 0) {
            ibv_qp_attr.path_mtu(told, ibv_qp_attr.path_mtu(attributes));
        }
        if ((mask & rdma_h.IBV_QP_MIN_RNR_TIMER()) != 0) {
            ibv_qp_attr.min_rnr_timer(told, ibv_qp_attr.min_rnr_timer(attributes));
        }
    }

    @Override
    public void describeModified(long out) {
        Mlx5Card.MODIFIED
                .at(out)
                .set("response_length", Mlx5Card.MODIFIED.size())
                .set("dctn", state == rdma_h.IBV_QPS_RTR() ? number() : 0);
    }
}
