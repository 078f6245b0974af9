package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A rule of flow steering that is in force, {@code struct ibv_flow}: packets that match it go to its queue pair.
 * Closing it takes the rule away.
 *
 * <p>Threads: as its {@link VerbsArena} says.
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
                    "flows are steered to queue pairs of type UD or RAW_PACKET, not to " + queuePair);
        }
        rule.check();
        queuePair.context.checkPort(rule.port());
        List<ContextObject> parents = new ArrayList<>();
        parents.add(queuePair);
        for (ContextObject used : rule.used()) {
            queuePair.requireSameContext(used);
            if (!parents.contains(used)) {
                parents.add(used);
            }
        }
        byte[] encoded = rule.encode();
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(encoded.length, Long.BYTES);
            attributes.copyFrom(MemorySegment.ofArray(encoded));
            return queuePair.context.create(
                    "ibv_create_flow",
                    ENDING,
                    rule + " to " + queuePair,
                    Flow::cureOfCreate,
                    CAPABILITY,
                    () -> {
                        parents.forEach(VerbsObject::checkOpen);
                        return queuePair.provider.createFlow(queuePair.address, attributes.address());
                    },
                    flow -> new Flow(queuePair, flow, parents));
        }
    }

    private static String cureOfCreate(int errno) {
        if (errno == Errno.EPERM.number || errno == Errno.EACCES.number) {
            return "steering flows needs the capability CAP_NET_RAW: run as root, or setcap cap_net_raw+ep";
        }
        if (errno == Errno.EINVAL.number) {
            return "the device may compare whole fields only, need an Ethernet filter in front, or have fewer priorities";
        }
        return null;
    }

    /**
     * Makes a flow for one that other code of this process has made.
     *
     * @param queuePair where its packets go
     * @param nativeAddress address of the {@code struct ibv_flow}
     * @param ownership whether closing this object ends the native one
     * @return the flow
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the queue pair is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static Flow ofNativeAddress(QueuePair queuePair, long nativeAddress, Ownership ownership) {
        return queuePair.context.wrap(nativeAddress, ownership, flow -> {
            queuePair.checkOpen();
            return new Flow(queuePair, flow, List.of(queuePair));
        });
    }

    /**
     * Where the packets go.
     *
     * @return the queue pair
     */
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
