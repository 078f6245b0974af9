package org.rdmapanama.cards;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.rdmapanama.cards.DcConnection.Path;
import org.rdmapanama.cards.DcConnection.RawGid;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * The sending side of the dynamically connected transport: finds the target of a send among those of this card, and connects
 * to it. As a real one it has one target at a time: before it turns to another, all sends must be complete.
 *
 * <p>What a real card tells a sender that names a wrong access key is not documented: here it is what a wrong remote key
 * gives. Nobody answers a number that no target has.
 */
final class Mlx5DcInitiator {
    /** What {@link #pairFor} returns while earlier sends must complete first. */
    static final long WAIT = 0;

    private static final int GIDS = 64;

    private final Mlx5Card card;
    private final DeviceFile file;
    private final CardQueuePair owner;

    /** What it was modified with, a struct ibv_qp_attr. */
    private final Arena arena = Arena.ofShared();

    private final MemorySegment attributes = arena.allocate(ibv_qp_attr.layout());
    private final MemorySegment gids = arena.allocate(ibv_gid_entry.layout(), GIDS);
    private final Map<Integer, DcConnection> connections = new HashMap<>();

    /** The own GIDs from which others were reached, by the path to those. */
    private final Map<Path, RawGid> ownGids = new HashMap<>();

    private int state = rdma_h.IBV_QPS_RESET();

    /** That of the sends which are not complete, or null. */
    private DcConnection current;

    private int outstanding;
    private boolean failed;

    Mlx5DcInitiator(Mlx5Card card, DeviceFile file, CardQueuePair owner) {
        this.card = card;
        this.file = file;
        this.owner = owner;
    }

    int softMask(MemorySegment wanted, int mask) throws CommandException {
        boolean moves = (mask & rdma_h.IBV_QP_STATE()) != 0;
        DcTransitions.checkInitiator(state, moves ? ibv_qp_attr.qp_state(wanted) : state, mask);
        return DcTransitions.softMask(mask);
    }

    void modified(MemorySegment wanted, int mask) {
        if ((mask & rdma_h.IBV_QP_STATE()) != 0) {
            state = ibv_qp_attr.qp_state(wanted);
        }
        if (state == rdma_h.IBV_QPS_RESET()) {
            disconnect();
            failed = false;
        } else if (state == rdma_h.IBV_QPS_ERR()) {
            fail();
        }
        if ((mask & rdma_h.IBV_QP_PATH_MTU()) != 0) {
            ibv_qp_attr.path_mtu(attributes, ibv_qp_attr.path_mtu(wanted));
        }
        if ((mask & rdma_h.IBV_QP_TIMEOUT()) != 0) {
            ibv_qp_attr.timeout(attributes, ibv_qp_attr.timeout(wanted));
            ibv_qp_attr.retry_cnt(attributes, ibv_qp_attr.retry_cnt(wanted));
            ibv_qp_attr.rnr_retry(attributes, ibv_qp_attr.rnr_retry(wanted));
            ibv_qp_attr.max_rd_atomic(attributes, ibv_qp_attr.max_rd_atomic(wanted));
        }
    }

    /** Tells what it was modified with, as the driver in the kernel does; soft0 knows no more than the state. */
    void correctQuery(MemorySegment told) {
        ibv_qp_attr.path_mtu(told, ibv_qp_attr.path_mtu(attributes));
        ibv_qp_attr.timeout(told, ibv_qp_attr.timeout(attributes));
        ibv_qp_attr.retry_cnt(told, ibv_qp_attr.retry_cnt(attributes));
        ibv_qp_attr.rnr_retry(told, ibv_qp_attr.rnr_retry(attributes));
        ibv_qp_attr.max_rd_atomic(told, ibv_qp_attr.max_rd_atomic(attributes));
    }

    /** Whether sends are not complete, so that an error of a later one must wait for them. */
    boolean isBusy() {
        return outstanding > 0;
    }

    /** An error of one send fails all after it. */
    void fail() {
        failed = true;
        state = rdma_h.IBV_QPS_ERR();
        if (current != null) {
            current.fail();
        }
    }

    /**
     * Finds the connection for a send.
     *
     * @param number the target's
     * @param gid the address of the GID of the target's device
     * @return the soft0 queue pair to post to; {@link #WAIT}; or, negated, the status with which the send fails
     */
    long pairFor(int number, long accessKey, long gid, int sourceIndex) {
        Mlx5DcTarget target = card.target(number);
        Path toTarget = new Path(RawGid.at(gid), sourceIndex);
        RawGid own = ownGid(toTarget);
        int refusal = refusal(target, accessKey, own);
        boolean goesOn = refusal == 0 && current != null && current.target().equals(target);
        // An error comes in order, behind what was sent before, and so does a send to another target.
        if (!goesOn && isBusy()) {
            return WAIT;
        }
        if (refusal != 0) {
            return -refusal;
        }
        if (!goesOn) {
            // Nothing of the one before is outstanding, and it may be closed below.
            current = null;
            try {
                current = connection(number, target, toTarget, new Path(own, target.sourceIndex()));
            } catch (CommandException ex) {
                // There is no room for another connection, for example.
                return -rdma_h.IBV_WC_LOC_QP_OP_ERR();
            }
        }
        return current.softPair();
    }

    /** Returns the status with which a send to a target fails, or 0 if it does not. */
    private int refusal(Mlx5DcTarget target, long accessKey, RawGid own) {
        if (failed) {
            return rdma_h.IBV_WC_WR_FLUSH_ERR();
        }
        if (target == null || own == null) {
            return rdma_h.IBV_WC_RETRY_EXC_ERR();
        }
        return target.accessKey() == accessKey ? 0 : rdma_h.IBV_WC_REM_ACCESS_ERR();
    }

    private DcConnection connection(int number, Mlx5DcTarget target, Path toTarget, Path toInitiator)
            throws CommandException {
        DcConnection known = connections.get(number);
        if (known != null && known.target().equals(target)) {
            return known;
        }
        if (known != null) {
            // The target was destroyed, and another one has its number.
            connections.remove(number);
            known.close();
        }
        DcConnection made = DcConnection.open(file, owner, attributes, toTarget, target, toInitiator);
        connections.put(number, made);
        return made;
    }

    /** Returns the sender's GID; or null if it has none, or the GID to send to is not one of this card. */
    private RawGid ownGid(Path toTarget) {
        RawGid known = ownGids.get(toTarget);
        if (known != null) {
            return known;
        }
        int count = file.soft().queryGidTable(gids.address(), GIDS);
        RawGid own = null;
        boolean reachable = false;
        for (int i = 0; i < count; i++) {
            MemorySegment entry = ibv_gid_entry.asSlice(gids, i);
            RawGid each = RawGid.at(ibv_gid_entry.gid(entry).address());
            if (ibv_gid_entry.gid_index(entry) == toTarget.sourceIndex()) {
                own = each;
            }
            reachable |= each.equals(toTarget.gid());
        }
        if (own == null || !reachable) {
            return null;
        }
        ownGids.put(toTarget, own);
        return own;
    }

    /** A send was posted to the connection. */
    void posted() {
        outstanding++;
    }

    /** A send of the connection is complete. */
    void completed(boolean success) {
        outstanding--;
        if (!success && !failed) {
            owner.fail();
        }
    }

    private void disconnect() {
        connections.values().forEach(DcConnection::close);
        connections.clear();
        ownGids.clear();
        current = null;
        outstanding = 0;
    }

    void close() {
        disconnect();
        arena.close();
    }
}
