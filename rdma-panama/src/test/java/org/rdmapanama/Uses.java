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
        uses.addAll(ofQueues());
        uses.addAll(ofDomain());
        uses.addAll(ofQueuePair());
        uses.addAll(ofMoreOfQueuePair());
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

    private static List<Use> ofMoreOfQueuePair() {
        return List.of(
                use("ProtectionDomain.createExtendedQueuePair", side -> {
                    QueuePairOptions options =
                            new QueuePairOptions(QueuePairType.RC, side.queue).sendOperations(SendOperation.SEND);
                    return () -> side.domain.createExtendedQueuePair(options);
                }),
                use("QueuePair.queryInitial", side -> () -> side.queuePair.queryInitial()),
                use("QueuePair.queryEce", side -> () -> side.queuePair.queryEce()),
                use("QueuePair.setEce", side -> () -> side.queuePair.setEce(new Ece(1, 0))),
                use("QueuePair.modifyRateLimit", side -> () -> side.queuePair.modifyRateLimit(new RateLimit(1000))),
                use(
                        "QueuePair.queryDataInOrder",
                        side -> () -> side.queuePair.queryDataInOrder(WorkRequestOpcode.SEND)),
                use("QueuePair.attachMulticast", side -> {
                    QueuePair datagrams =
                            side.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, side.queue));
                    return () -> datagrams.attachMulticast(Gid.parse("ff0e:0000:0000:0000:0000:0000:0000:0001"), 0);
                }),
                use("QueuePair.detachMulticast", side -> {
                    QueuePair datagrams =
                            side.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, side.queue));
                    return () -> datagrams.detachMulticast(Gid.parse("ff0e:0000:0000:0000:0000:0000:0000:0001"), 0);
                }),
                use("ExtendedQueuePair.startWorkRequests", side -> extended(side)::startWorkRequests),
                use("WorkRequestBuilder.send", side -> extended(side).startWorkRequests()::send),
                use("WorkRequestBuilder.id", side -> {
                    WorkRequestBuilder batch = extended(side).startWorkRequests();
                    return () -> batch.id(1);
                }),
                use("WorkRequestBuilder.signaled", side -> {
                    WorkRequestBuilder batch = extended(side).startWorkRequests();
                    return () -> batch.signaled(true);
                }),
                use("WorkRequestBuilder.segment", side -> {
                    WorkRequestBuilder batch =
                            extended(side).startWorkRequests().send();
                    return () -> batch.segment(side.region, 0, 8);
                }),
                use("WorkRequestBuilder.complete", side -> extended(side).startWorkRequests()::complete),
                use("WorkRequestBuilder.abort", side -> extended(side).startWorkRequests()::abort));
    }

    private static ExtendedQueuePair extended(Side side) {
        return side.domain.createExtendedQueuePair(
                new QueuePairOptions(QueuePairType.RC, side.queue).sendOperations(SendOperation.SEND));
    }
}
