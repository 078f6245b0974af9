package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_wq_attr;
import org.rdmapanama.ffm.verbs.rdma_h;

/**
 * What to change about a work queue, {@code struct ibv_wq_attr}; see ibv_modify_wq(3). Only what is set is changed.
 *
 * <p>{@snippet :
 * workQueue.modify(new WorkQueueAttributes().state(WorkQueueState.RDY));
 * }
 *
 * <p>Threads: one at a time.
 */
public final class WorkQueueAttributes {
    private final Set<WorkQueueFlag> changed = EnumSet.noneOf(WorkQueueFlag.class);
    private final Set<WorkQueueFlag> set = EnumSet.noneOf(WorkQueueFlag.class);
    private WorkQueueState state;
    private WorkQueueState currentState;

    /** Nothing to change, until told otherwise. */
    public WorkQueueAttributes() {}

    private static WorkQueueState known(WorkQueueState state) {
        if (Objects.requireNonNull(state, "state") == WorkQueueState.UNKNOWN) {
            throw new IllegalArgumentException("UNKNOWN is no state that a work queue can be in");
        }
        return state;
    }

    /**
     * Sets the state to move to: RESET to RDY, any state to ERR, and ERR to RESET.
     *
     * @param next the new state
     * @return this
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws NullPointerException when it is null
     */
    public WorkQueueAttributes state(WorkQueueState next) {
        state = known(next);
        return this;
    }

    /**
     * Sets the state that the queue is to be in now, or else nothing is changed.
     *
     * @param current the present state
     * @return this
     * @throws IllegalArgumentException when it is UNKNOWN
     * @throws NullPointerException when it is null
     */
    public WorkQueueAttributes currentState(WorkQueueState current) {
        currentState = known(current);
        return this;
    }

    /**
     * Sets whether the queue does something with packets.
     *
     * @param flag what
     * @param on true to do it
     * @return this
     * @throws NullPointerException when the flag is null
     */
    public WorkQueueAttributes flag(WorkQueueFlag flag, boolean on) {
        changed.add(flag);
        if (on) {
            set.add(flag);
        } else {
            set.remove(flag);
        }
        return this;
    }

    /** Into a zeroed {@code struct ibv_wq_attr}. */
    void write(MemorySegment attributes) {
        int mask = 0;
        if (state != null) {
            mask |= rdma_h.IBV_WQ_ATTR_STATE();
            ibv_wq_attr.wq_state(attributes, state.code());
        }
        if (currentState != null) {
            mask |= rdma_h.IBV_WQ_ATTR_CURR_STATE();
            ibv_wq_attr.curr_wq_state(attributes, currentState.code());
        }
        if (!changed.isEmpty()) {
            mask |= rdma_h.IBV_WQ_ATTR_FLAGS();
            ibv_wq_attr.flags(attributes, WorkQueueFlag.mask(set));
            ibv_wq_attr.flags_mask(attributes, WorkQueueFlag.mask(changed));
        }
        ibv_wq_attr.attr_mask(attributes, mask);
    }

    /** What is set. */
    @Override
    public String toString() {
        return "state " + state + ", current state " + currentState + ", flags " + set + " of " + changed;
    }
}
