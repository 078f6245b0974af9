package org.rdmapanama;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Every way to use the objects of a side: all must refuse a closed object, and a thread that does not own them. */
final class Uses {
    /** One call, with its arguments made. */
    @FunctionalInterface
    interface Prepared {
        void run() throws Exception;
    }

    /** One method. */
    record Use(String name, Function<Side, Prepared> preparation) {
        Prepared prepare(Side side) {
            return preparation.apply(side);
        }
    }

    private static final Gid GROUP = Gid.parse("ff0e0000000000000000000000000042");

    static final List<Use> ALL = all();

    private Uses() {}

    private static List<Use> all() {
        List<Use> uses = new ArrayList<>(ofContext());
        uses.addAll(ofQueues());
        uses.addAll(ofDomain());
        uses.addAll(ofQueuePair());
        uses.addAll(ofAddressesAndFlows());
        return List.copyOf(uses);
    }

    private static Use use(String name, Function<Side, Prepared> preparation) {
        return new Use(name, preparation);
    }

    private static List<Use> ofContext() {
        return List.of(
                use("Context.queryDevice", side -> () -> side.context.queryDevice()),
                use("Context.queryPort", side -> () -> side.context.queryPort(1)),
                use("Context.gidTable", side -> () -> side.context.gidTable()),
                use("Context.gid", side -> () -> side.context.gid(1, 0)),
                use("Context.preferredGid", side -> () -> side.context.preferredGid(1)),
                use("Context.pkey", side -> () -> side.context.pkey(1, 0)),
                use("Context.awaitAsyncEvent", side -> () -> side.context.awaitAsyncEvent(Duration.ZERO)),
                use("Context.allocateProtectionDomain", side -> () -> side.context.allocateProtectionDomain()),
                use("Context.createCompletionChannel", side -> () -> side.context.createCompletionChannel()),
                use("Context.createCompletionQueue", side -> () -> side.context.createCompletionQueue(1)),
                use("Context.nativeAddress", side -> () -> side.context.nativeAddress()));
    }

    private static List<Use> ofQueues() {
        return List.of(
                use("CompletionChannel.await", side -> () -> side.channel.await(Duration.ZERO)),
                use("CompletionChannel.fileDescriptor", side -> () -> side.channel.fileDescriptor()),
                use("CompletionQueue.poll", side -> {
                    WorkCompletions completions = new WorkCompletions(side.arena, 1);
                    return () -> side.queue.poll(completions);
                }),
                use("CompletionQueue.requestNotification", side -> () -> side.queue.requestNotification(false)));
    }

    private static List<Use> ofDomain() {
        return List.of(
                use("ProtectionDomain.register", side -> () -> side.domain.register(side.memory)),
                use("ProtectionDomain.createQueuePair", side -> {
                    QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, side.queue);
                    return () -> side.domain.createQueuePair(options);
                }),
                use("ProtectionDomain.createAddressHandle", side -> {
                    GidEntry own = side.context.preferredGid(1).orElseThrow();
                    AddressVector way = AddressVector.toGid(1, own.index(), own.gid());
                    return () -> side.domain.createAddressHandle(way);
                }),
                use("SendWorkRequest.add", side -> {
                    SendWorkRequest request = side.request(1, 0, 0);
                    return () -> request.add(side.region, 0, 8);
                }));
    }

    private static List<Use> ofQueuePair() {
        return List.of(
                use("QueuePair.postSend", side -> {
                    SendWorkRequest request = side.request(1, 0, 8);
                    return () -> side.queuePair.postSend(request);
                }),
                use("QueuePair.postReceive", side -> {
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> side.queuePair.postReceive(request);
                }),
                use("QueuePair.firstNotSent", side -> {
                    SendWorkRequest request = side.request(1, 0, 8);
                    return () -> side.queuePair.firstNotSent(request);
                }),
                use("QueuePair.firstNotReceiving", side -> {
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> side.queuePair.firstNotReceiving(request);
                }),
                use("QueuePair.state", side -> () -> side.queuePair.state()),
                use("QueuePair.query", side -> () -> side.queuePair.query()),
                use("QueuePair.modify", side -> {
                    QueuePairAttributes error = new QueuePairAttributes().state(QueuePairState.ERR);
                    return () -> side.queuePair.modify(error);
                }),
                use("QueuePair.localEndpoint", side -> () -> side.queuePair.localEndpoint(LabDevices.connectOptions())),
                use("QueuePair.connect", side -> {
                    Endpoint own = side.queuePair.localEndpoint();
                    return () -> side.queuePair.connect(own);
                }));
    }

    /** A queue pair of type UD beside that of the side. */
    private static QueuePair datagrams(Side side) {
        return side.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, side.queue));
    }

    /** A completion of nothing, which no check may come to look at. */
    private static WorkCompletions completions(Side side) {
        return new WorkCompletions(side.arena, 1);
    }

    /** Native objects that nobody looks at, because the Java object refuses before. */
    private static long fake(Side side) {
        return side.arena.allocate(64, 16).address();
    }

    private static List<Use> ofAddressesAndFlows() {
        return List.of(
                use("Context.addressVectorOf", side -> {
                    WorkCompletions completions = completions(side);
                    return () -> side.context.addressVectorOf(completions, 0, side.memory, 1);
                }),
                use("Context.resolveEthernetAddress", side -> {
                    GidEntry own = side.context.preferredGid(1).orElseThrow();
                    AddressVector way = AddressVector.toGid(1, own.index(), own.gid());
                    return () -> side.context.resolveEthernetAddress(way);
                }),
                use("Context.allocateThreadDomain", side -> () -> side.context.allocateThreadDomain()),
                use("Context.createCounters", side -> () -> side.context.createCounters()),
                use("Context.createFlowActionEsp", side -> {
                    FlowActionEspOptions options = new FlowActionEspOptions();
                    return () -> side.context.createFlowActionEsp(options);
                }),
                use("ProtectionDomain.createParentDomain", side -> {
                    ParentDomainOptions options = new ParentDomainOptions();
                    return () -> side.domain.createParentDomain(options);
                }),
                use("ProtectionDomain.createAddressHandle of a completion", side -> {
                    WorkCompletions completions = completions(side);
                    return () -> side.domain.createAddressHandle(completions, 0, side.memory, 1);
                }),
                use("AddressHandle.ofNativeAddress", side -> {
                    long address = fake(side);
                    return () -> AddressHandle.ofNativeAddress(side.domain, address, Ownership.BORROWED);
                }),
                use("ParentDomain.ofNativeAddress", side -> {
                    long address = fake(side);
                    return () -> ParentDomain.ofNativeAddress(side.domain, address, Ownership.BORROWED);
                }),
                use("ThreadDomain.ofNativeAddress", side -> {
                    long address = fake(side);
                    return () -> ThreadDomain.ofNativeAddress(side.context, address, Ownership.BORROWED);
                }),
                use("Flow.ofNativeAddress", side -> {
                    long address = fake(side);
                    return () -> Flow.ofNativeAddress(side.queuePair, address, Ownership.BORROWED);
                }),
                use("QueuePair.createFlow", side -> {
                    QueuePair queuePair = datagrams(side);
                    FlowRule rule = new FlowRule(1);
                    return () -> queuePair.createFlow(rule);
                }),
                use("QueuePair.attachMulticast", side -> {
                    QueuePair queuePair = datagrams(side);
                    return () -> queuePair.attachMulticast(GROUP, 0);
                }),
                use("QueuePair.detachMulticast", side -> {
                    QueuePair queuePair = datagrams(side);
                    queuePair.attachMulticast(GROUP, 0);
                    return () -> queuePair.detachMulticast(GROUP, 0);
                }),
                use("Counters.attach", side -> {
                    Counters counters = Counters.ofNativeAddress(side.context, fake(side), Ownership.BORROWED);
                    return () -> counters.attach(CounterDescription.PACKETS, 0);
                }),
                use("Counters.attachToFlow", side -> {
                    Counters counters = Counters.ofNativeAddress(side.context, fake(side), Ownership.BORROWED);
                    Flow flow = Flow.ofNativeAddress(side.queuePair, fake(side), Ownership.BORROWED);
                    return () -> counters.attachToFlow(CounterDescription.PACKETS, 0, flow);
                }),
                use("Counters.read", side -> {
                    Counters counters = Counters.ofNativeAddress(side.context, fake(side), Ownership.BORROWED);
                    return () -> counters.read(1);
                }),
                use("FlowActionEsp.modify", side -> {
                    FlowActionEsp action = FlowActionEsp.ofNativeAddress(side.context, fake(side), Ownership.BORROWED);
                    FlowActionEspOptions options = new FlowActionEspOptions();
                    return () -> action.modify(options);
                }));
    }
}
