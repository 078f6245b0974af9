package org.rdmapanama;

import java.util.Objects;

/**
 * One part of a {@link FlowRule}: what packets must look like, which is a {@link FlowFilter}, or what is done with
 * those that do, which is one of the records here; see ibv_create_flow(3).
 */
public sealed interface FlowSpecification {
    /** What a part of the packets' headers must look like. */
    sealed interface Match extends FlowSpecification permits FlowFilter {}

    /**
     * Marks packets, for who reads their completions, {@code struct ibv_flow_spec_action_tag}.
     *
     * @param id the mark, 32 bits, of which devices may take fewer
     */
    record Tag(int id) implements FlowSpecification {}

    /** Throws packets away, {@code struct ibv_flow_spec_action_drop}. */
    record Drop() implements FlowSpecification {}

    /**
     * Does what an action says, {@code struct ibv_flow_spec_action_handle}.
     *
     * @param action of the same context as the queue pair
     */
    record Apply(FlowActionEsp action) implements FlowSpecification {
        /**
         * Checks that it is there.
         *
         * @throws NullPointerException when the action is null
         */
        public Apply {
            Objects.requireNonNull(action, "action");
        }
    }

    /**
     * Counts packets, {@code struct ibv_flow_spec_counter_action}.
     *
     * @param counters of the same context as the queue pair
     */
    record Count(Counters counters) implements FlowSpecification {
        /**
         * Checks that they are there.
         *
         * @throws NullPointerException when the counters are null
         */
        public Count {
            Objects.requireNonNull(counters, "counters");
        }
    }
}
