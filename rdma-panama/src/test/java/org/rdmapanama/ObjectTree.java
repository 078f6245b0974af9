package org.rdmapanama;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.LabDevices;

/**
 * Verbs objects of every kind that Soft-RoCE has in one arena, all related to each other in some way, to be closed in
 * some order. {@link RandomTree} has all kinds.
 */
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

    Map<String, VerbsObject> objects() {
        return objects;
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
