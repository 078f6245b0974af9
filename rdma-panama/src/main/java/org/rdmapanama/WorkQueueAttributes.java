package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.verbs.ibv_wq_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.queue.WorkQueueFlag;
import org.rdmapanama.queue.WorkQueueState;

/**
 * Changes to a work queue, {@code struct ibv_wq_attr}; see ibv_modify_wq(3). Only attributes that are set are changed.
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
    private @Nullable WorkQueueState state;
    private @Nullable WorkQueueState currentState;

    /** Creates attributes of which none is set. */
    public WorkQueueAttributes() {}

    private static WorkQueueState known(WorkQueueState state) {
        if (Objects.requireNonNull(state, "state") == WorkQueueState.UNKNOWN) {
            throw new IllegalArgumentException("state must not be UNKNOWN");
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
     * Sets the state in which the queue must be now; otherwise nothing is changed.
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
     * Sets or clears a flag of the queue.
     *
     * @param flag the flag
     * @param on true to set it
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

    /** Writes to a zeroed {@code struct ibv_wq_attr}. */
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
            ibv_wq_attr.flags(attributes, Codes.mask(set, WorkQueueFlag::code));
            ibv_wq_attr.flags_mask(attributes, Codes.mask(changed, WorkQueueFlag::code));
        }
        ibv_wq_attr.attr_mask(attributes, mask);
    }

    /** All attributes. */
    @Override
    public String toString() {
        return "state " + state + ", current state " + currentState + ", flags " + set + " of " + changed;
    }
}
