package org.rdmapanama;

import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionFlag;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryAdvice;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.Ece;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RateLimit;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.WorkQueueState;
import org.rdmapanama.queue.WorkRequestOpcode;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/** Every way to use the objects of a side: all must refuse a closed object, and a thread that does not own them. */
@SuppressWarnings("CheckReturnValue") // objects that are only there
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

    /** What never changes once an object is made: any thread may read it at any time, also when it is closed. */
    static final Set<String> READ_BY_ANYBODY = Set.of(
            "AddressHandle.path",
            "CompletionQueue.entries",
            "CompletionQueue.isDirect",
            "Context.counts",
            "Context.deviceName",
            "Context.driverName",
            "Context.nodeType",
            "Context.portCounters",
            "Context.transportType",
            "DeviceMemory.byteSize",
            "DeviceMemory.handle",
            "ExtendedCompletionQueue.fields",
            "ExtendedQueuePair.sendOperations",
            "Flow.queuePair",
            "MemoryRegion.access",
            "MemoryRegion.address",
            "MemoryRegion.byteSize",
            "MemoryRegion.handle",
            "MemoryRegion.hasMemory",
            "MemoryRegion.isUsable",
            "MemoryRegion.lkey",
            "MemoryRegion.memory",
            "MemoryRegion.part",
            "MemoryRegion.protectionDomain",
            "MemoryRegion.remote",
            "MemoryRegion.rkey",
            "MemoryWindow.nextRkey",
            "MemoryWindow.protectionDomain",
            "MemoryWindow.rkey",
            "MemoryWindow.type",
            "ParentDomain.protectionDomain",
            "ParentDomain.threadDomain",
            "ProtectionDomain.handle",
            "QueuePair.capabilities",
            "QueuePair.counts",
            "QueuePair.traffic",
            "QueuePair.failure",
            "QueuePair.isDirect",
            "QueuePair.number",
            "QueuePair.protectionDomain",
            "QueuePair.receiveQueue",
            "QueuePair.sendQueue",
            "QueuePair.sharedReceiveQueue",
            "QueuePair.type",
            "ReceiveIndirectionTable.number",
            "ReceiveIndirectionTable.workQueues",
            "SharedReceiveQueue.completionQueue",
            "SharedReceiveQueue.isDirect",
            "SharedReceiveQueue.maxSegments",
            "SharedReceiveQueue.maxWorkRequests",
            "SharedReceiveQueue.protectionDomain",
            "SharedReceiveQueue.type",
            "WorkQueue.completionQueue",
            "WorkQueue.maxSegments",
            "WorkQueue.maxWorkRequests",
            "WorkQueue.number",
            "WorkQueue.protectionDomain",
            "WorkQueue.type");

    private Uses() {}

    private static List<Use> all() {
        List<Use> uses = new ArrayList<>(ofContext());
        uses.addAll(ofTables());
        uses.addAll(ofQueues());
        uses.addAll(ofExtendedQueue());
        uses.addAll(ofDomain());
        uses.addAll(ofQueuePair());
        uses.addAll(ofSharedReceiveQueue());
        uses.addAll(ofWorkQueue());
        uses.addAll(ofMemory());
        uses.addAll(ofAddressesAndFlows());
        uses.addAll(ofMoreOfQueuePair());
        uses.addAll(ofStandIns());
        return List.copyOf(uses);
    }

    private static Use use(String name, Function<Side, Prepared> preparation) {
        return new Use(name, preparation);
    }

    private static List<Use> ofContext() {
        return List.of(
                use("Context.queryDevice", side -> () -> side.context.queryDevice()),
                use("Context.queryPort", side -> () -> side.context.queryPort(1)),
                use("Context.queryGidTable", side -> () -> side.context.queryGidTable()),
                use("Context.preferredGid", side -> () -> side.context.preferredGid(1)),
                use("Context.preferredGid", side -> {
                    InetAddress peer = InetAddress.getLoopbackAddress();
                    return () -> side.context.preferredGid(1, peer);
                }),
                use("Context.pkey", side -> () -> side.context.pkey(1, 0)),
                use("Context.awaitAsyncEvent", side -> () -> side.context.awaitAsyncEvent(Duration.ZERO)),
                use("Context.allocateProtectionDomain", side -> () -> side.context.allocateProtectionDomain()),
                use("Context.createCompletionChannel", side -> () -> side.context.createCompletionChannel()),
                use("Context.createCompletionQueue", side -> () -> side.context.createCompletionQueue(1)),
                use("VerbsObject.nativeAddress", side -> () -> side.context.nativeAddress()));
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
                use("CompletionChannel.wakeup", side -> () -> side.channel.wakeup()),
                use("CompletionChannel.fileDescriptor", side -> () -> side.channel.fileDescriptor()),
                use("QueueObject.bindToThread", side -> () -> side.queue.bindToThread()),
                use("QueueObject.unbindFromThread", side -> () -> side.queue.unbindFromThread()),
                use("CompletionQueue.poll", side -> {
                    WorkCompletions completions = new WorkCompletions(side.arena, 1);
                    return () -> side.queue.poll(completions);
                }),
                use("CompletionQueue.await", side -> {
                    WorkCompletions completions = new WorkCompletions(side.arena, 1);
                    return () -> side.queue.await(completions, Duration.ZERO);
                }),
                use("CompletionQueue.requestNotification", side -> () -> side.queue.requestNotification(false)),
                use("CompletionQueue.resize", side -> () -> side.queue.resize(8)),
                use("CompletionQueue.moderate", side -> () -> side.queue.moderate(0, Duration.ZERO)),
                use("CompletionQueue.ofNativeAddress", side -> () -> {
                    // An address that is never looked at: the context refuses first.
                    CompletionQueue.ofNativeAddress(side.context, 8, Ownership.BORROWED);
                }),
                use("CompletionChannel.ofNativeAddress", side -> () -> {
                    CompletionChannel.ofNativeAddress(side.context, 8, Ownership.BORROWED);
                }));
    }

    private static Use extended(String name, Consumer<ExtendedCompletionQueue> call) {
        return use("ExtendedCompletionQueue." + name, side -> {
            ExtendedCompletionQueue queue = side.context.createCompletionQueue(new CompletionQueueOptions(4));
            return () -> call.accept(queue);
        });
    }

    private static Use cursor(String name, Consumer<PollCursor> call) {
        return use("PollCursor." + name, side -> {
            PollCursor cursor = side.context
                    .createCompletionQueue(new CompletionQueueOptions(4))
                    .poll();
            return () -> call.accept(cursor);
        });
    }

    private static List<Use> ofExtendedQueue() {
        return List.of(
                use("Context.createCompletionQueue(options)", side -> {
                    CompletionQueueOptions options = new CompletionQueueOptions(4);
                    return () -> side.context.createCompletionQueue(options);
                }),
                use("ExtendedCompletionQueue.ofNativeAddress", side -> () -> {
                    ExtendedCompletionQueue.ofNativeAddress(side.context, 8, Ownership.BORROWED);
                }),
                extended("poll", ExtendedCompletionQueue::poll),
                cursor("next", PollCursor::next),
                extended("startPoll", ExtendedCompletionQueue::startPoll),
                extended("nextPoll", ExtendedCompletionQueue::nextPoll),
                extended("endPoll", ExtendedCompletionQueue::endPoll),
                cursor("id", PollCursor::id),
                cursor("status", PollCursor::status),
                cursor("succeeded", PollCursor::succeeded),
                cursor("opcode", PollCursor::opcode),
                cursor("vendorError", PollCursor::vendorError),
                cursor("flags", PollCursor::flags),
                cursor("hasImmediate", PollCursor::hasImmediate),
                cursor("hasInvalidatedRkey", PollCursor::hasInvalidatedRkey),
                cursor("hasGlobalRoutingHeader", PollCursor::hasGlobalRoutingHeader),
                cursor("checksumOk", PollCursor::checksumOk),
                cursor("has", cursor -> cursor.has(CompletionFlag.TM_MATCH)),
                cursor("byteLength", PollCursor::byteLength),
                cursor("immediate", PollCursor::immediate),
                cursor("invalidatedRkey", PollCursor::invalidatedRkey),
                cursor("queuePairNumber", PollCursor::queuePairNumber),
                cursor("sourceQueuePair", PollCursor::sourceQueuePair),
                cursor("sourceLid", PollCursor::sourceLid),
                cursor("serviceLevel", PollCursor::serviceLevel),
                cursor("destinationPathBits", PollCursor::destinationPathBits),
                cursor("timestamp", PollCursor::timestamp),
                cursor("wallClockNanos", PollCursor::wallClockNanos),
                cursor("vlan", PollCursor::vlan),
                cursor("flowTag", PollCursor::flowTag),
                cursor("tag", PollCursor::tag),
                cursor("tagPrivateData", PollCursor::tagPrivateData),
                cursor("describe", PollCursor::describe),
                cursor("check", PollCursor::check));
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

    private static SharedReceiveQueue receives(Side side) {
        return side.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
    }

    private static List<Use> ofSharedReceiveQueue() {
        return List.of(
                use("ProtectionDomain.createSharedReceiveQueue", side -> {
                    SharedReceiveQueueOptions options = new SharedReceiveQueueOptions();
                    return () -> side.domain.createSharedReceiveQueue(options);
                }),
                use("SharedReceiveQueue.postReceive", side -> {
                    SharedReceiveQueue queue = receives(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.postReceive(request);
                }),
                use("SharedReceiveQueue.tryPostReceive", side -> {
                    SharedReceiveQueue queue = receives(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.tryPostReceive(request);
                }),
                use("SharedReceiveQueue.firstNotReceiving", side -> {
                    SharedReceiveQueue queue = receives(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.firstNotReceiving(request);
                }),
                use("SharedReceiveQueue.postTagOperation", side -> {
                    SharedReceiveQueue queue = receives(side);
                    TagOperation operation = TagOperation.allocate(side.arena, 0);
                    return () -> queue.postTagOperation(operation);
                }),
                use("SharedReceiveQueue.tryPostTagOperation", side -> {
                    SharedReceiveQueue queue = receives(side);
                    TagOperation operation = TagOperation.allocate(side.arena, 0);
                    return () -> queue.tryPostTagOperation(operation);
                }),
                use("SharedReceiveQueue.firstNotOperated", side -> {
                    SharedReceiveQueue queue = receives(side);
                    TagOperation operation = TagOperation.allocate(side.arena, 0);
                    return () -> queue.firstNotOperated(operation);
                }),
                use("SharedReceiveQueue.query", side -> {
                    SharedReceiveQueue queue = receives(side);
                    return () -> queue.query();
                }),
                use("SharedReceiveQueue.number", side -> {
                    SharedReceiveQueue queue = receives(side);
                    return () -> queue.number();
                }),
                use("SharedReceiveQueue.resize", side -> {
                    SharedReceiveQueue queue = receives(side);
                    return () -> queue.resize(1000);
                }),
                use("SharedReceiveQueue.armLimit", side -> {
                    SharedReceiveQueue queue = receives(side);
                    return () -> queue.armLimit(1);
                }),
                use("TagOperation.add", side -> {
                    TagOperation operation = TagOperation.allocate(side.arena, 1);
                    return () -> operation.add(side.region, 0, 8);
                }));
    }

    /** One that no device has made. */
    private static WorkQueue workQueue(Side side) {
        long address = side.arena.allocate(1024, 8).address();
        return WorkQueue.ofNativeAddress(side.domain, new WorkQueueOptions(side.queue), address, Ownership.BORROWED);
    }

    private static List<Use> ofWorkQueue() {
        return List.of(
                use("Context.openXrcDomain", side -> () -> side.context.openXrcDomain()),
                use("Context.createReceiveIndirectionTable", side -> {
                    List<WorkQueue> queues = List.of(workQueue(side));
                    return () -> side.context.createReceiveIndirectionTable(queues);
                }),
                use("ProtectionDomain.createWorkQueue", side -> {
                    WorkQueueOptions options = new WorkQueueOptions(side.queue);
                    return () -> side.domain.createWorkQueue(options);
                }),
                use("WorkQueue.state", side -> {
                    WorkQueue queue = workQueue(side);
                    return () -> queue.state();
                }),
                use("WorkQueue.modify", side -> {
                    WorkQueue queue = workQueue(side);
                    WorkQueueAttributes ready = new WorkQueueAttributes().state(WorkQueueState.RDY);
                    return () -> queue.modify(ready);
                }),
                use("WorkQueue.postReceive", side -> {
                    WorkQueue queue = workQueue(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.postReceive(request);
                }),
                use("WorkQueue.tryPostReceive", side -> {
                    WorkQueue queue = workQueue(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.tryPostReceive(request);
                }),
                use("WorkQueue.firstNotReceiving", side -> {
                    WorkQueue queue = workQueue(side);
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> queue.firstNotReceiving(request);
                }));
    }

    private static List<Use> ofQueuePair() {
        return List.of(
                use("QueuePair.postSend", side -> {
                    SendWorkRequest request = side.request(1, 0, 8);
                    return () -> side.queuePair.postSend(request);
                }),
                use("QueuePair.tryPostSend", side -> {
                    SendWorkRequest request = side.request(1, 0, 8);
                    return () -> side.queuePair.tryPostSend(request);
                }),
                use("QueuePair.postReceive", side -> {
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> side.queuePair.postReceive(request);
                }),
                use("QueuePair.tryPostReceive", side -> {
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> side.queuePair.tryPostReceive(request);
                }),
                use("QueuePair.firstNotSent", side -> {
                    SendWorkRequest request = side.request(1, 0, 8);
                    return () -> side.queuePair.firstNotSent(request);
                }),
                use("QueuePair.firstNotReceiving", side -> {
                    ReceiveWorkRequest request = side.receiveRequest(1, 0, 8);
                    return () -> side.queuePair.firstNotReceiving(request);
                }),
                use("QueuePair.initialize", side -> () -> side.queuePair.initialize()),
                use("QueuePair.activate", side -> {
                    QueuePair datagrams =
                            side.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, side.queue));
                    return () -> datagrams.activate();
                }),
                use("QueuePair.pathTo", side -> {
                    Endpoint own = side.queuePair.localEndpoint();
                    return () -> side.queuePair.pathTo(own);
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

    private static List<Use> ofMemory() {
        return List.of(
                use("Context.commandFileDescriptor", side -> () -> side.context.commandFileDescriptor()),
                use("Context.importProtectionDomain", side -> () -> side.context.importProtectionDomain(1)),
                use("Context.importDeviceMemory", side -> () -> side.context.importDeviceMemory(1, 64)),
                use("Context.allocateDeviceMemory", side -> () -> side.context.allocateDeviceMemory(64, 0)),
                use("ProtectionDomain.registerUnsafe", side -> () -> side.domain.registerUnsafe(side.memory)),
                use("ProtectionDomain.register at an address", side -> () -> side.domain.register(side.memory, 0)),
                use("ProtectionDomain.registerImplicit", side -> () -> side.domain.registerImplicit()),
                use("ProtectionDomain.registerDmaBuffer", side -> () -> side.domain.registerDmaBuffer(0, 0, 4096, 0)),
                use("ProtectionDomain.allocateNullRegion", side -> () -> side.domain.allocateNullRegion()),
                use("ProtectionDomain.importMemoryRegion", side -> () -> side.domain.importMemoryRegion(1, 0)),
                use("ProtectionDomain.advise", side -> {
                    RegionPart part = side.region.part(0, 8);
                    return () -> side.domain.advise(MemoryAdvice.PREFETCH, false, part);
                }),
                use(
                        "ProtectionDomain.allocateMemoryWindow",
                        side -> () -> side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1)),
                use("MemoryRegion.reregister", side -> {
                    Reregistration changes = new Reregistration().access(AccessFlag.LOCAL_WRITE);
                    return () -> side.region.reregister(changes);
                }),
                use("QueuePair.bind", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
                    MemoryWindowBinding binding = binding(side);
                    return () -> side.queuePair.bind(window, binding, 1, true);
                }),
                use("QueuePair.tryBind", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
                    MemoryWindowBinding binding = binding(side);
                    return () -> side.queuePair.tryBind(window, binding, 1, true);
                }),
                use("SendWorkRequest.bindMemoryWindow", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
                    MemoryWindowBinding binding = binding(side);
                    SendWorkRequest request = side.request(1, 0, 0);
                    return () -> request.bindMemoryWindow(window, window.nextRkey(), binding);
                }),
                use("SendWorkRequest.bindMemoryWindow of a region", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
                    MemoryRegion region = binding(side).region();
                    SendWorkRequest request = side.request(1, 0, 0);
                    return () ->
                            request.bindMemoryWindow(window, window.nextRkey(), region, 0, 64, AccessFlag.REMOTE_WRITE);
                }),
                use("QueuePair.postSend of a binding", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
                    SendWorkRequest request =
                            side.request(1, 0, 0).bindMemoryWindow(window, window.nextRkey(), binding(side));
                    return () -> side.queuePair.postSend(request);
                }),
                use("MemoryWindow.restoreRkey", side -> {
                    MemoryWindow window = side.domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
                    return () -> window.restoreRkey(window.rkey());
                }),
                use("RegisteredPool.create", side -> () -> RegisteredPool.create(side.domain, 4096)),
                use("RegisteredPool.allocate", side -> {
                    RegisteredPool pool = RegisteredPool.create(side.domain, 4096);
                    return () -> pool.allocate(64);
                }),
                use("SendWorkRequest.add of a buffer", side -> {
                    RegisteredBuffer buffer =
                            RegisteredPool.create(side.domain, 4096).allocate(64);
                    SendWorkRequest request = side.request(1, 0, 0);
                    return () -> request.add(buffer);
                }));
    }

    private static MemoryWindowBinding binding(Side side) {
        MemoryRegion region = side.domain.register(side.memory, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        return new MemoryWindowBinding(region, 0, 64, AccessFlag.REMOTE_WRITE);
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

    private static List<Use> ofStandIns() {
        return List.of(
                use("DeviceMemory.copyFrom", side -> {
                    DeviceMemory memory = deviceMemory(side);
                    return () -> memory.copyFrom(0, side.memory.asSlice(0, 8));
                }),
                use("DeviceMemory.copyTo", side -> {
                    DeviceMemory memory = deviceMemory(side);
                    return () -> memory.copyTo(0, side.memory.asSlice(0, 8));
                }),
                use("ProtectionDomain.registerDeviceMemory", side -> {
                    DeviceMemory memory = deviceMemory(side);
                    return () -> side.domain.registerDeviceMemory(memory, 0, 8);
                }),
                use("XrcDomain.openQueuePair", side -> {
                    XrcDomain domain = XrcDomain.ofNativeAddress(side.context, fake(side), Ownership.BORROWED);
                    return () -> domain.openQueuePair(1);
                }));
    }

    private static DeviceMemory deviceMemory(Side side) {
        return DeviceMemory.ofNativeAddress(side.context, fake(side), 64, Ownership.BORROWED);
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
                    return () -> batch.add(side.region, 0, 8);
                }),
                use("WorkRequestBuilder.complete", side -> extended(side).startWorkRequests()::complete),
                use("WorkRequestBuilder.abort", side -> extended(side).startWorkRequests()::abort));
    }

    private static ExtendedQueuePair extended(Side side) {
        return side.domain.createExtendedQueuePair(
                new QueuePairOptions(QueuePairType.RC, side.queue).sendOperations(SendOperation.SEND));
    }
}
