package org.rdmapanama.flow;

import java.util.Objects;
import org.rdmapanama.Counters;
import org.rdmapanama.FlowActionEsp;

/**
 * One part of a {@link FlowRule}: either a {@link FlowFilter} that packets must match, or an action for matching
 * packets, which is one of the records here; see ibv_create_flow(3).
 */
public sealed interface FlowSpecification {
    /** A filter for a part of the packets' headers. */
    sealed interface Match extends FlowSpecification permits FlowFilter {}

    /**
     * Tags packets for the reader of their completions, {@code struct ibv_flow_spec_action_tag}.
     *
     * @param id the tag, 32 bits, of which devices may support fewer
     */
    record Tag(int id) implements FlowSpecification {}

    /** Drops packets, {@code struct ibv_flow_spec_action_drop}. */
    record Drop() implements FlowSpecification {}

    /**
     * Applies an action to packets, {@code struct ibv_flow_spec_action_handle}.
     *
     * @param action the action, of the same context as the queue pair
     */
    record Apply(FlowActionEsp action) implements FlowSpecification {
        /**
         * Checks the argument.
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
     * @param counters the counters, of the same context as the queue pair
     */
    record Count(Counters counters) implements FlowSpecification {
        /**
         * Checks the argument.
         *
         * @throws NullPointerException when the counters are null
         */
        public Count {
            Objects.requireNonNull(counters, "counters");
        }
    }
}
