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

    static final List<Use> ALL = all();

    private Uses() {}

    private static List<Use> all() {
        List<Use> uses = new ArrayList<>(ofContext());
        uses.addAll(ofTables());
        uses.addAll(ofQueues());
        uses.addAll(ofDomain());
        uses.addAll(ofQueuePair());
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

    private static List<Use> ofTables() {
        return List.of(
                use("Context.queryGid", side -> () -> side.context.queryGid(1, 0)),
                use("Context.queryGidEntry", side -> () -> side.context.queryGidEntry(1, 0)),
                use("Context.pkeyIndex", side -> () -> side.context.pkeyIndex(1, 0xffff)),
                use("Context.realTimeClock", side -> () -> side.context.realTimeClock()),
                use("Context.completionVectors", side -> () -> side.context.completionVectors()),
                use("Context.asyncFileDescriptor", side -> () -> side.context.asyncFileDescriptor()));
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
}
