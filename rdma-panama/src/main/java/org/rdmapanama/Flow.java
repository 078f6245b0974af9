package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairType;

/**
 * An active rule of flow steering, {@code struct ibv_flow}: packets that match it go to its queue pair. Closing it
 * removes the rule.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class Flow extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_flow", ProviderContext::destroyFlow);

    static final String CAPABILITY = "DeviceCapability.MANAGED_FLOW_STEERING in DeviceAttributes.capabilities";

    private final QueuePair queuePair;

    private Flow(QueuePair queuePair, long address, List<? extends VerbsObject> parents) {
        super(queuePair.context, address, parents.toArray(VerbsObject[]::new));
        this.queuePair = queuePair;
    }

    static Flow create(QueuePair queuePair, FlowRule rule) {
        Objects.requireNonNull(rule, "rule");
        if (queuePair.type() != QueuePairType.UD && queuePair.type() != QueuePairType.RAW_PACKET) {
            throw new IllegalArgumentException(
                    "flows are steered only to queue pairs of type UD or RAW_PACKET: " + queuePair);
        }
        queuePair.context.checkPort(rule.port());
        List<ContextObject> parents = new ArrayList<>();
        parents.add(queuePair);
        for (FlowSpecification specification : rule.specifications()) {
            ContextObject used = usedBy(specification);
            if (used != null && !parents.contains(used)) {
                queuePair.requireSameContext(used);
                parents.add(used);
            }
        }
        byte[] encoded = rule.toNative();
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(encoded.length, Long.BYTES);
            attributes.copyFrom(MemorySegment.ofArray(encoded));
            return queuePair.context.create(
                    new Creation("ibv_create_flow", ENDING)
                            .arguments(() -> rule + " to " + queuePair)
                            .cures(Flow::cureOfCreate)
                            .capability(CAPABILITY),
                    () -> {
                        parents.forEach(VerbsObject::checkOpen);
                        return queuePair.provider.createFlow(queuePair.address, attributes.address());
                    },
                    flow -> new Flow(queuePair, flow, parents));
        }
    }

    /** Returns the object that a flow uses because of a specification, or null. */
    private static @Nullable ContextObject usedBy(FlowSpecification specification) {
        return switch (specification) {
            case FlowSpecification.Apply apply -> apply.action();
            case FlowSpecification.Count count -> count.counters();
            default -> null;
        };
    }

    private static @Nullable String cureOfCreate(int errno) {
        if (errno == Errno.EPERM || errno == Errno.EACCES) {
            return "steering flows needs the capability CAP_NET_RAW; run as root, or grant it with 'setcap cap_net_raw+ep'";
        }
        if (errno == Errno.EINVAL) {
            return "the device may compare only whole fields, require an Ethernet filter first, or have fewer priorities";
        }
        return null;
    }

    /**
     * Wraps a flow that other code in this process has created.
     *
     * @param queuePair the queue pair that receives its packets
     * @param nativeAddress address of the {@code struct ibv_flow}
     * @param ownership whether closing this object destroys the native one
     * @return the flow
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the queue pair is closed
     */
    @CheckReturnValue
    public static Flow ofNativeAddress(QueuePair queuePair, long nativeAddress, Ownership ownership) {
        return queuePair.context.wrap(nativeAddress, ownership, flow -> {
            queuePair.checkOpen();
            return new Flow(queuePair, flow, List.of(queuePair));
        });
    }

    /** {@return the queue pair that receives the packets} */
    public QueuePair queuePair() {
        return queuePair;
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 0;
    }

    /** Its queue pair. */
    @Override
    public String toString() {
        return "flow to " + queuePair;
    }
}
