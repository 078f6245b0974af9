package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_counter_attach_attr;
import org.rdmapanama.ffm.verbs.ibv_counters_init_attr;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.CounterReadFlag;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Counters of packets and bytes, {@code struct ibv_counters}: an array of numbers, to whose indexes the things to count
 * are attached.
 *
 * <p>{@snippet :
 * Counters counters = context.createCounters();
 * counters.attach(CounterDescription.PACKETS, 0);
 * counters.attach(CounterDescription.BYTES, 1);
 * Flow flow = qp.createFlow(rule.add(new FlowSpecification.Count(counters)));
 * long[] packetsAndBytes = counters.read(2);
 * }
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class Counters extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_counters", ProviderContext::destroyCounters);

    private static final String CAPABILITY =
            "a driver with counters, such as mlx5; no DeviceCapability shows them, only this call";

    /** The kernel takes the size of the array in bytes as 16 bits. */
    private static final int MOST = 0xffff / Long.BYTES;

    private Counters(Context context, long address) {
        super(context, address, context);
    }

    static Counters create(Context context) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_counters_init_attr.layout());
            return context.create(
                    new Creation("ibv_create_counters", ENDING).capability(CAPABILITY),
                    () -> context.provider().createCounters(attributes.address()),
                    counters -> new Counters(context, counters));
        }
    }

    /**
     * Wraps counters that other code in this process has created.
     *
     * @param context the open device on which they were created
     * @param nativeAddress address of the {@code struct ibv_counters}
     * @param ownership whether closing this object destroys the native one
     * @return the counters
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static Counters ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, counters -> new Counters(context, counters));
    }

    /**
     * Sets what an index counts, for every flow that is later created with a {@link FlowSpecification.Count} of these
     * counters; see ibv_attach_counters_point_flow(3). Once such a flow exists, nothing more can be attached this way.
     *
     * @param description what to count
     * @param index the index, from 0; several things attached to one index are added up
     * @throws IllegalArgumentException when the index is negative
     * @throws NullPointerException when the description is null
     * @throws VerbsException when the verb fails, for example with EBUSY when a flow uses these counters already
     * @throws UnsupportedVerbException when the device cannot count this
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_attach_counters_point_flow
     */
    public void attach(CounterDescription description, int index) {
        attach(description, index, 0, "all flows that are created with them", null);
    }

    /**
     * Sets what an index counts, for one existing flow; see ibv_attach_counters_point_flow(3). The counters must
     * outlive the flow: closing them closes it first.
     *
     * @param description what to count
     * @param index the index, from 0; several things attached to one index are added up
     * @param flow whose packets to count
     * @throws IllegalArgumentException when the index is negative or the flow belongs to another context
     * @throws NullPointerException when the description or the flow is null
     * @throws VerbsException when the verb fails
     * @throws UnsupportedVerbException when the device cannot count this
     * @throws IllegalStateException when this or the flow is closed
     *
     * @verb ibv_attach_counters_point_flow
     */
    public void attachToFlow(CounterDescription description, int index, Flow flow) {
        requireSameContext(flow);
        attach(description, index, flow.address, flow.toString(), flow);
    }

    private void attach(CounterDescription description, int index, long flowAddress, String to, @Nullable Flow flow) {
        Objects.requireNonNull(description, "description");
        if (index < 0) {
            throw new IllegalArgumentException("index must not be negative: " + index);
        }
        arena.lock().lock();
        try (Arena temporary = KnownMemory.ofConfined()) {
            checkOpen();
            if (flow != null) {
                flow.checkOpen();
            }
            MemorySegment attributes = temporary.allocate(ibv_counter_attach_attr.layout());
            ibv_counter_attach_attr.counter_desc(attributes, description.code());
            ibv_counter_attach_attr.index(attributes, index);
            context.check(
                    "ibv_attach_counters_point_flow",
                    provider.attachCountersToFlow(address, attributes.address(), flowAddress),
                    this + ", " + description + " at index " + index + " to " + to,
                    CAPABILITY);
            if (flow != null) {
                flow.addParent(this);
            }
        } finally {
            arena.lock().unlock();
        }
    }

    /**
     * Reads the first counters; see ibv_read_counters(3).
     *
     * @param count the number of counters, 1 to 8191; it should include the last index to which something is attached,
     *     because devices may refuse to read fewer with EINVAL
     * @param flags where the values may come from; without flags the device is asked
     * @return the values, each unsigned
     * @throws IllegalArgumentException when the count is out of range
     * @throws NullPointerException when a flag is null
     * @throws VerbsException when the verb fails
     * @throws UnsupportedVerbException when the device does not support counters
     * @throws IllegalStateException when this is closed
     *
     * @verb ibv_read_counters
     */
    public long[] read(int count, CounterReadFlag... flags) {
        if (count < 1 || count > MOST) {
            throw new IllegalArgumentException("count must be between 1 and " + MOST + ": " + count);
        }
        Set<CounterReadFlag> wanted = EnumSet.noneOf(CounterReadFlag.class);
        wanted.addAll(List.of(flags));
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment values = temporary.allocate(JAVA_LONG, count);
            enter();
            try {
                context.check(
                        "ibv_read_counters",
                        provider.readCounters(
                                address, values.address(), count, Codes.mask(wanted, CounterReadFlag::code)),
                        this + ", the first " + count + ", flags " + wanted,
                        CAPABILITY);
            } finally {
                exit();
            }
            return values.toArray(JAVA_LONG);
        }
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 3;
    }

    /** The device. */
    @Override
    public String toString() {
        return "counters of " + context;
    }
}
