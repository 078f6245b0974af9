package org.rdmapanama.flow;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ffm.verbs.ibv_flow_attr;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_action_drop;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_action_handle;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_action_tag;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_counter_action;
import org.rdmapanama.ffm.verbs.ibv_flow_spec_eth;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;

/**
 * A rule that selects the packets for a queue pair, {@code struct ibv_flow_attr}, for {@link QueuePair#createFlow}; see
 * ibv_create_flow(3).
 *
 * <p>{@snippet :
 * Flow flow = qp.createFlow(new FlowRule(1)
 *         .add(FlowFilter.ethernet().destination(mac))
 *         .add(FlowFilter.udp().destinationPort(5001))
 *         .add(new FlowSpecification.Tag(7)));
 * }
 *
 * <p>Defaults: a rule of type NORMAL, of priority 0, without flags. Threads: one at a time.
 */
public final class FlowRule {
    private static final int MAX_SPECIFICATIONS = 0xff;
    private static final int MAX_BYTES = 0xffff;

    private final int port;
    private FlowRuleType type = FlowRuleType.NORMAL;
    private int priority;
    private final Set<FlowFlag> flags = EnumSet.noneOf(FlowFlag.class);
    private final List<FlowSpecification> specifications = new ArrayList<>();

    /**
     * Creates a rule for the packets of a port.
     *
     * @param port its number, from 1
     * @throws IllegalArgumentException when the number is not between 1 and 255
     */
    public FlowRule(int port) {
        if (port < 1 || port > 255) {
            throw new IllegalArgumentException("port must be between 1 and 255: " + port);
        }
        this.port = port;
    }

    /**
     * Sets what kind of rule this is.
     *
     * @param kind the type
     * @return this
     * @throws NullPointerException when it is null
     */
    public FlowRule type(FlowRuleType kind) {
        type = Objects.requireNonNull(kind, "type");
        return this;
    }

    /**
     * Sets the priority among matching rules.
     *
     * @param rank the priority, 0 to 65535; lower values come first
     * @return this
     * @throws IllegalArgumentException when it is out of range
     */
    public FlowRule priority(int rank) {
        if (rank < 0 || rank > 0xffff) {
            throw new IllegalArgumentException("priority must be between 0 and 65535: " + rank);
        }
        priority = rank;
        return this;
    }

    /**
     * Sets the flags.
     *
     * @param wanted the flags to set; all others are cleared
     * @return this
     * @throws NullPointerException when one is null
     */
    public FlowRule flags(FlowFlag... wanted) {
        List<FlowFlag> given = List.of(wanted);
        flags.clear();
        flags.addAll(given);
        return this;
    }

    /**
     * Adds a part: packets must match all filters, and undergo all actions.
     *
     * @param specification a {@link FlowFilter} or an action; changing a filter later changes the rule
     * @return this
     * @throws NullPointerException when it is null
     * @throws IllegalStateException when there are already 255
     */
    public FlowRule add(FlowSpecification specification) {
        Objects.requireNonNull(specification, "specification");
        if (specifications.size() == MAX_SPECIFICATIONS) {
            throw new IllegalStateException(
                    "rule is full: it must not have more than " + MAX_SPECIFICATIONS + " specifications");
        }
        specifications.add(specification);
        return this;
    }

    /** {@return the number of the port whose packets are examined, from 1} */
    public int port() {
        return port;
    }

    /** {@return the specifications that were {@linkplain #add added}, in that order, an unmodifiable copy} */
    public List<FlowSpecification> specifications() {
        return List.copyOf(specifications);
    }

    /**
     * Returns the rule as {@code ibv_create_flow} takes it: a {@code struct ibv_flow_attr} directly followed by the
     * specifications.
     *
     * @return a new array, at most 65535 bytes
     * @throws IllegalArgumentException when DONT_TRAP is set in a rule that is not of type NORMAL, or the rule is too
     *     large
     * @throws IllegalStateException when an action or counters of the rule are closed
     * @throws WrongThreadException when their arena is confined to another thread
     */
    public byte[] toNative() {
        if (type != FlowRuleType.NORMAL && flags.contains(FlowFlag.DONT_TRAP)) {
            throw new IllegalArgumentException("DONT_TRAP needs a rule of type NORMAL: " + type);
        }
        List<byte[]> parts = specifications.stream().map(FlowRule::encode).toList();
        int size = (int) ibv_flow_attr.sizeof()
                + parts.stream().mapToInt(part -> part.length).sum();
        if (size > MAX_BYTES) {
            throw new IllegalArgumentException("rule must have at most " + MAX_BYTES + " bytes: " + size);
        }
        ByteBuffer block = ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
        block.putInt((int) ibv_flow_attr.type$offset(), type.code());
        block.putShort((int) ibv_flow_attr.size$offset(), (short) size);
        block.putShort((int) ibv_flow_attr.priority$offset(), (short) priority);
        block.put((int) ibv_flow_attr.num_of_specs$offset(), (byte) parts.size());
        block.put((int) ibv_flow_attr.port$offset(), (byte) port);
        block.putInt((int) ibv_flow_attr.flags$offset(), Codes.mask(flags, FlowFlag::code));
        block.position((int) ibv_flow_attr.sizeof());
        parts.forEach(block::put);
        return block.array();
    }

    private static byte[] encode(FlowSpecification specification) {
        return switch (specification) {
            case FlowFilter filter -> {
                ByteBuffer part = part(filter.size());
                filter.write(part);
                yield part.array();
            }
            case FlowSpecification.Tag tag ->
                header(
                                part(ibv_flow_spec_action_tag.sizeof()),
                                rdma_h.IBV_FLOW_SPEC_ACTION_TAG(),
                                ibv_flow_spec_action_tag.sizeof())
                        .putInt((int) ibv_flow_spec_action_tag.tag_id$offset(), tag.id())
                        .array();
            case FlowSpecification.Drop drop ->
                header(
                                part(ibv_flow_spec_action_drop.sizeof()),
                                rdma_h.IBV_FLOW_SPEC_ACTION_DROP(),
                                ibv_flow_spec_action_drop.sizeof())
                        .array();
            case FlowSpecification.Apply apply ->
                header(
                                part(ibv_flow_spec_action_handle.sizeof()),
                                rdma_h.IBV_FLOW_SPEC_ACTION_HANDLE(),
                                ibv_flow_spec_action_handle.sizeof())
                        .putLong(
                                (int) ibv_flow_spec_action_handle.action$offset(),
                                apply.action().nativeAddress())
                        .array();
            case FlowSpecification.Count count ->
                header(
                                part(ibv_flow_spec_counter_action.sizeof()),
                                rdma_h.IBV_FLOW_SPEC_ACTION_COUNT(),
                                ibv_flow_spec_counter_action.sizeof())
                        .putLong(
                                (int) ibv_flow_spec_counter_action.counters$offset(),
                                count.counters().nativeAddress())
                        .array();
        };
    }

    private static ByteBuffer part(long size) {
        return ByteBuffer.allocate((int) size).order(ByteOrder.nativeOrder());
    }

    /** Writes the header, which is common to all specifications. */
    static ByteBuffer header(ByteBuffer specification, int type, long size) {
        return specification
                .putInt((int) ibv_flow_spec_eth.type$offset(), type)
                .putShort((int) ibv_flow_spec_eth.size$offset(), (short) size);
    }

    /** All settings. */
    @Override
    public String toString() {
        return "rule of type " + type + " for port " + port + ", priority " + priority + ", flags " + flags + ": "
                + Arrays.toString(specifications.toArray());
    }
}
