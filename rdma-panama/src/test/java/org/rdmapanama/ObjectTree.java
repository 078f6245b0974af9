package org.rdmapanama;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Verbs objects of every kind in one arena, all related to each other in some way, to be closed in some order. */
final class ObjectTree {
    private static final Gid GROUP = Gid.parse("ff0e0000000000000000000000000042");

    private final VerbsArena arena;
    private final Map<String, VerbsObject> objects = new LinkedHashMap<>();

    private ObjectTree(VerbsArena arena) {
        this.arena = arena;
    }

    /** One of each kind, two of those that can be shared. */
    static ObjectTree full(VerbsArena arena, Context context) {
        return new ObjectTree(arena).grow(context, 2, 2, 2, 2, 2);
    }

    /** One or two devices with a random number of each kind of object. */
    static ObjectTree random(VerbsArena arena, Random random) {
        ObjectTree tree = new ObjectTree(arena);
        tree.grow(Context.open(arena, LabDevices.first()), random);
        if (random.nextBoolean()) {
            tree.grow(Context.open(arena, LabDevices.second()), random);
        }
        return tree;
    }

    /** On a device that has what Soft-RoCE lacks: that in addition, used by a queue pair and by each other. */
    static ObjectTree pretended(VerbsArena arena, Context context, Random random) {
        ObjectTree tree = new ObjectTree(arena).grow(context, 1, 1, 2, 2, 1);
        ThreadDomain thread = tree.add(context.allocateThreadDomain());
        List<Counters> counters = List.of(tree.add(context.createCounters()), tree.add(context.createCounters()));
        FlowActionEsp action = tree.add(context.createFlowActionEsp(new FlowActionEspOptions()));
        for (ProtectionDomain domain : List.copyOf(tree.of(ProtectionDomain.class))) {
            ParentDomain parent = tree.add(domain.createParentDomain(new ParentDomainOptions().threadDomain(thread)));
            MemoryRegion region = tree.add(parent.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE));
            tree.addQueuePair(parent, tree.of(CompletionQueue.class), region, 0);
            tree.addAddressHandle(parent);
        }
        for (QueuePair queuePair : List.copyOf(tree.of(QueuePair.class))) {
            if (queuePair.type() == QueuePairType.UD) {
                FlowRule rule = new FlowRule(1).add(new FlowSpecification.Count(counters.get(random.nextInt(2))));
                if (random.nextBoolean()) {
                    rule.add(new FlowSpecification.Apply(action));
                }
                Flow flow = tree.add(queuePair.createFlow(rule));
                counters.get(random.nextInt(2)).attachToFlow(CounterDescription.BYTES, 0, flow);
            }
        }
        return tree;
    }

    private <T extends VerbsObject> List<T> of(Class<T> type) {
        return objects.values().stream()
                .filter(type::isInstance)
                .map(type::cast)
                .toList();
    }

    Map<String, VerbsObject> objects() {
        return objects;
    }

    private void grow(Context context, Random random) {
        grow(
                context,
                1 + random.nextInt(2),
                random.nextInt(2),
                1 + random.nextInt(3),
                random.nextInt(3),
                random.nextInt(3));
    }

    private ObjectTree grow(Context context, int domains, int channels, int queues, int perDomain, int handles) {
        add(context);
        List<CompletionChannel> channelsMade = new ArrayList<>();
        for (int i = 0; i < channels; i++) {
            channelsMade.add(add(context.createCompletionChannel()));
        }
        List<CompletionQueue> queuesMade = new ArrayList<>();
        for (int i = 0; i < queues; i++) {
            queuesMade.add(add(
                    i < channels
                            ? context.createCompletionQueue(16, channelsMade.get(i), 0)
                            : context.createCompletionQueue(16)));
        }
        CompletionQueueOptions extended = new CompletionQueueOptions(16).fields(CompletionField.BYTE_LEN);
        queuesMade.add(add(context.createCompletionQueue(extended)));
        if (channels > 0) {
            queuesMade.add(add(context.createCompletionQueue(extended.channel(channelsMade.get(0)))));
        }
        for (int i = 0; i < domains; i++) {
            ProtectionDomain domain = add(context.allocateProtectionDomain());
            for (int j = 0; j < perDomain; j++) {
                MemoryRegion region = add(domain.register(arena.allocate(4096), AccessFlag.LOCAL_WRITE));
                addQueuePair(domain, queuesMade, region, i + j);
                addSharedReceiveQueue(domain, queuesMade, region);
            }
            add(domain.allocateMemoryWindow(i % 2 == 0 ? MemoryWindowType.TYPE_1 : MemoryWindowType.TYPE_2));
            for (int j = 0; j < handles; j++) {
                addAddressHandle(domain);
            }
        }
        return this;
    }

    /** Of each type in turn, and with a receive outstanding where its state allows it. */
    private void addQueuePair(ProtectionDomain domain, List<CompletionQueue> queues, MemoryRegion region, int number) {
        QueuePairType type = number % 2 == 0 ? QueuePairType.UD : QueuePairType.RC;
        CompletionQueue receives = queues.get(number % queues.size());
        QueuePairOptions options = new QueuePairOptions(type, queues.get(0), receives);
        QueuePair queuePair = add(
                number % 3 == 0
                        ? domain.createExtendedQueuePair(options.sendOperations(SendOperation.SEND))
                        : domain.createQueuePair(options));
        if (type == QueuePairType.UD) {
            queuePair.localEndpoint(LabDevices.connectOptions());
            queuePair.activate();
            queuePair.postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 100));
            // The kernel destroys no queue pair that is still attached to a group.
            queuePair.attachMulticast(GROUP, 0);
        }
    }

    /** With a queue pair that uses it, and a receive outstanding. */
    private void addSharedReceiveQueue(ProtectionDomain domain, List<CompletionQueue> queues, MemoryRegion region) {
        SharedReceiveQueue receives =
                add(domain.createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(16)));
        receives.postReceive(ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 100));
        QueuePair queuePair = add(domain.createQueuePair(
                new QueuePairOptions(QueuePairType.UD, queues.get(0)).sharedReceiveQueue(receives)));
        queuePair.localEndpoint(LabDevices.connectOptions());
        queuePair.activate();
    }

    private void addAddressHandle(ProtectionDomain domain) {
        GidEntry own = domain.context().preferredGid(1).orElseThrow();
        add(domain.createAddressHandle(AddressVector.toGid(1, own.index(), own.gid())));
    }

    private <T extends VerbsObject> T add(T object) {
        objects.put(objects.size() + " " + object, object);
        return object;
    }
}
