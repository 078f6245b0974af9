package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.RxHashFunction;
import org.rdmapanama.flow.CounterDescription;
import org.rdmapanama.flow.FlowActionEspOptions;
import org.rdmapanama.flow.FlowRule;
import org.rdmapanama.flow.FlowSpecification;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.RxHash;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.queue.SharedReceiveQueueType;
import org.rdmapanama.standin.PretendingProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.LabDevices;

/**
 * Verbs objects of every kind on one device that has them all, several of each, made on one another at random. The tree
 * knows by itself which object uses which, and the native side of it knows which objects are alive.
 */
@SuppressWarnings("CheckReturnValue") // objects that are only there
final class RandomTree {
    private static final int MAX_OF_A_KIND = 3;
    private static final int QUEUE_ENTRIES = 256;
    private static final int REGION_BYTES = 4096;
    private static final int QKEY = 0x1111_1111;
    private static final long BIND = 4711;
    private static final Gid GROUP = Gid.parse("ff0e0000000000000000000000000042");

    /** How to make one of each kind. What is used comes before what uses it. */
    static final Map<Class<? extends VerbsObject>, Consumer<RandomTree>> KINDS = new LinkedHashMap<>();

    static {
        KINDS.put(ProtectionDomain.class, tree -> tree.add(tree.context.allocateProtectionDomain()));
        KINDS.put(ThreadDomain.class, tree -> tree.add(tree.context.allocateThreadDomain()));
        KINDS.put(ParentDomain.class, RandomTree::makeParentDomain);
        KINDS.put(XrcDomain.class, tree -> tree.add(tree.context.openXrcDomain()));
        KINDS.put(CompletionChannel.class, tree -> tree.add(tree.context.createCompletionChannel()));
        KINDS.put(CompletionQueue.class, RandomTree::makeCompletionQueue);
        KINDS.put(ExtendedCompletionQueue.class, RandomTree::makeExtendedCompletionQueue);
        KINDS.put(DeviceMemory.class, tree -> tree.add(tree.context.allocateDeviceMemory(REGION_BYTES, 0)));
        KINDS.put(MemoryRegion.class, RandomTree::makeRegion);
        KINDS.put(AddressHandle.class, RandomTree::makeAddressHandle);
        KINDS.put(SharedReceiveQueue.class, RandomTree::makeSharedReceiveQueue);
        KINDS.put(WorkQueue.class, RandomTree::makeWorkQueue);
        KINDS.put(ReceiveIndirectionTable.class, RandomTree::makeIndirectionTable);
        KINDS.put(QueuePair.class, RandomTree::makeQueuePair);
        KINDS.put(ExtendedQueuePair.class, tree -> tree.makeReady(QueuePairType.RC, true));
        KINDS.put(MemoryWindow.class, RandomTree::makeWindow);
        KINDS.put(Counters.class, tree -> tree.add(tree.context.createCounters()));
        KINDS.put(FlowActionEsp.class, tree -> tree.add(tree.context.createFlowActionEsp(new FlowActionEspOptions())));
        KINDS.put(Flow.class, RandomTree::makeFlow);
    }

    final Context context;
    private final VerbsArena arena;
    private final PretendingProvider driver;
    private final Random random;

    /** What each object uses, in the order in which they were made. */
    private final Map<VerbsObject, Set<VerbsObject>> uses = new LinkedHashMap<>();

    /** Those to which work can be posted. */
    private final List<QueuePair> ready = new ArrayList<>();

    /** How each window of type 1 was bound. */
    private final List<Binding> bindings = new ArrayList<>();

    private final List<RegisteredBuffer> buffers = new ArrayList<>();

    private record Binding(QueuePair queuePair, MemoryWindow window, MemoryWindowBinding part) {}

    private RandomTree(VerbsArena arena, Device device, PretendingProvider driver, Random random) {
        this.arena = arena;
        this.driver = driver;
        this.random = random;
        context = Context.open(arena, device, () -> driver);
        uses.put(context, Set.of());
    }

    static RandomTree grow(VerbsArena arena, Device device, Random random) {
        RandomTree tree = new RandomTree(arena, device, PretendingProvider.of(device), random);
        tree.grow();
        return tree;
    }

    /** One with some objects of another tree, which keeps owning them, and with more of its own on top. */
    static RandomTree borrow(VerbsArena arena, Device device, RandomTree lender, Random random) {
        RandomTree tree = new RandomTree(arena, device, lender.driver, random);
        // As Context.ofNativeAddress does, but with a driver that is watched.
        tree.context.borrow();
        for (VerbsObject lent : lender.uses.keySet()) {
            if (random.nextInt(5) > 0) {
                tree.borrow(lender, lent);
            }
        }
        tree.grow();
        return tree;
    }

    private void grow() {
        for (Consumer<RandomTree> kind : KINDS.values()) {
            for (int i = random.nextInt(MAX_OF_A_KIND); i >= 0; i--) {
                kind.accept(this);
            }
        }
        ready.forEach(this::leaveWork);
    }

    private <T extends VerbsObject> T add(T object, VerbsObject... used) {
        Set<VerbsObject> all = new LinkedHashSet<>(List.of(used));
        all.add(context);
        uses.put(object, all);
        return object;
    }

    private <T extends VerbsObject> T any(Class<T> type, Predicate<T> suitable) {
        List<T> all = of(type).stream().filter(suitable).toList();
        return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
    }

    private <T extends VerbsObject> T any(Class<T> type) {
        return any(type, object -> true);
    }

    private <T extends VerbsObject> List<T> of(Class<T> type) {
        return uses.keySet().stream().filter(type::isInstance).map(type::cast).toList();
    }

    private void makeParentDomain() {
        ProtectionDomain domain = any(ProtectionDomain.class, candidate -> !(candidate instanceof ParentDomain));
        if (random.nextBoolean()) {
            add(domain.createParentDomain(new ParentDomainOptions()), domain);
        } else {
            ThreadDomain thread = any(ThreadDomain.class);
            add(domain.createParentDomain(new ParentDomainOptions().threadDomain(thread)), domain, thread);
        }
    }

    private void makeCompletionQueue() {
        if (random.nextBoolean()) {
            add(context.createCompletionQueue(QUEUE_ENTRIES));
        } else {
            CompletionChannel channel = any(CompletionChannel.class);
            add(context.createCompletionQueue(QUEUE_ENTRIES, channel, 0), channel);
        }
    }

    private void makeExtendedCompletionQueue() {
        CompletionQueueOptions options = new CompletionQueueOptions(QUEUE_ENTRIES);
        switch (random.nextInt(3)) {
            case 0 -> add(context.createCompletionQueue(options));
            case 1 -> {
                CompletionChannel channel = any(CompletionChannel.class);
                add(context.createCompletionQueue(options.channel(channel)), channel);
            }
            default -> {
                ParentDomain domain = any(ParentDomain.class);
                add(context.createCompletionQueue(options.parentDomain(domain)), domain);
            }
        }
    }

    private void makeRegion() {
        ProtectionDomain domain = any(ProtectionDomain.class);
        switch (random.nextInt(3)) {
            case 0 -> register(domain);
            case 1 -> {
                DeviceMemory memory = any(DeviceMemory.class);
                add(domain.registerDeviceMemory(memory, 0, memory.byteSize()), domain, memory);
            }
            default -> {
                RegisteredPool pool = RegisteredPool.create(domain, REGION_BYTES, AccessFlag.LOCAL_WRITE);
                add(pool.region(), domain);
                buffers.add(pool.allocate(100));
            }
        }
    }

    private MemoryRegion register(ProtectionDomain domain) {
        AccessFlag[] access = {AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND};
        return add(domain.register(arena.allocate(REGION_BYTES), access), domain);
    }

    private void makeAddressHandle() {
        ProtectionDomain domain = any(ProtectionDomain.class);
        GidEntry own = context.preferredGid(1).orElseThrow();
        add(domain.createAddressHandle(AddressVector.toGid(1, own.index(), own.gid())), domain);
    }

    private void makeSharedReceiveQueue() {
        ProtectionDomain domain = any(ProtectionDomain.class);
        SharedReceiveQueueOptions options = new SharedReceiveQueueOptions();
        SharedReceiveQueue made;
        if (random.nextBoolean()) {
            made = add(domain.createSharedReceiveQueue(options), domain);
        } else {
            XrcDomain xrcDomain = any(XrcDomain.class);
            CompletionQueue queue = any(CompletionQueue.class);
            made = add(domain.createSharedReceiveQueue(options.xrc(xrcDomain, queue)), domain, xrcDomain, queue);
        }
        made.postReceive(receive());
    }

    private ReceiveWorkRequest receive() {
        return ReceiveWorkRequest.allocate(arena, 1).add(any(MemoryRegion.class), 0, 100);
    }

    private void makeWorkQueue() {
        ProtectionDomain domain = any(ProtectionDomain.class);
        CompletionQueue queue = any(CompletionQueue.class);
        add(domain.createWorkQueue(new WorkQueueOptions(queue)), domain, queue);
    }

    private void makeIndirectionTable() {
        List<WorkQueue> queues = List.of(any(WorkQueue.class), any(WorkQueue.class));
        add(context.createReceiveIndirectionTable(queues), queues.toArray(VerbsObject[]::new));
    }

    private void makeQueuePair() {
        ProtectionDomain domain = any(ProtectionDomain.class);
        switch (random.nextInt(5)) {
            case 0 -> {
                XrcDomain xrcDomain = any(XrcDomain.class);
                add(domain.createQueuePair(QueuePairOptions.xrcReceive(xrcDomain)), domain, xrcDomain);
            }
            case 1 -> {
                ReceiveIndirectionTable table = any(ReceiveIndirectionTable.class);
                RxHash hash = new RxHash(RxHashFunction.TOEPLITZ, new byte[40], Set.of());
                QueuePairOptions options = QueuePairOptions.receiveSideScaling(QueuePairType.UD, table, hash);
                add(domain.createQueuePair(options), domain, table);
            }
            case 2 -> {
                CompletionQueue queue = any(CompletionQueue.class);
                add(domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)), domain, queue);
            }
            case 3 -> makeReady(QueuePairType.RC, false);
            default -> makeReady(QueuePairType.UD, random.nextBoolean());
        }
    }

    /** Connected to itself, if it has a peer at all. */
    private QueuePair makeReady(QueuePairType type, boolean extended) {
        ProtectionDomain domain = any(ProtectionDomain.class);
        CompletionQueue sends = any(CompletionQueue.class);
        CompletionQueue receives = any(CompletionQueue.class);
        QueuePairOptions options = new QueuePairOptions(type, sends, receives);
        List<VerbsObject> used = new ArrayList<>(List.of(domain, sends, receives));
        SharedReceiveQueue shared =
                any(SharedReceiveQueue.class, queue -> queue.type() == SharedReceiveQueueType.BASIC);
        if (shared != null && random.nextBoolean()) {
            options.sharedReceiveQueue(shared);
            used.add(shared);
        }
        QueuePair queuePair = extended
                ? domain.createExtendedQueuePair(options.sendOperations(SendOperation.SEND))
                : domain.createQueuePair(options);
        add(queuePair, used.toArray(VerbsObject[]::new));
        queuePair.localEndpoint(LabDevices.connectOptions().rnrRetry(7));
        if (type == QueuePairType.UD) {
            queuePair.activate();
        } else {
            queuePair.connect(queuePair.localEndpoint());
        }
        ready.add(queuePair);
        return queuePair;
    }

    /** Bound to a region, or new. */
    private void makeWindow() {
        MemoryWindowType type = random.nextBoolean() ? MemoryWindowType.TYPE_1 : MemoryWindowType.TYPE_2;
        QueuePair queuePair =
                any(QueuePair.class, candidate -> ready.contains(candidate) && candidate.type() == QueuePairType.RC);
        if (queuePair == null || random.nextInt(4) == 0) {
            ProtectionDomain domain = any(ProtectionDomain.class);
            add(domain.allocateMemoryWindow(type), domain);
            return;
        }
        ProtectionDomain domain = queuePair.protectionDomain();
        MemoryRegion region = register(domain);
        MemoryWindow window = domain.allocateMemoryWindow(type);
        MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 100, AccessFlag.REMOTE_WRITE);
        if (type == MemoryWindowType.TYPE_1) {
            add(window, domain, region);
            bindings.add(new Binding(queuePair, window, part));
            queuePair.bind(window, part, BIND, true);
        } else {
            add(window, domain, region, queuePair);
            SendWorkRequest bind = SendWorkRequest.allocate(arena, 0).id(BIND).signaled(true);
            queuePair.postSend(bind.bindMemoryWindow(window, window.nextRkey(), part));
        }
        WorkCompletions one = new WorkCompletions(arena, 1);
        CompletionQueue sends = queuePair.sendQueue();
        Bound.usual().spin("a window was not bound", () -> sends.poll(one) > 0 && one.id(0) == BIND);
        assertEquals(CompletionStatus.SUCCESS, one.status(0));
    }

    private void makeFlow() {
        QueuePair queuePair = any(QueuePair.class, candidate -> candidate.type() == QueuePairType.UD);
        if (queuePair == null) {
            queuePair = makeReady(QueuePairType.UD, false);
        }
        Counters counted = any(Counters.class);
        Counters attached = any(Counters.class);
        FlowActionEsp action = any(FlowActionEsp.class);
        Flow flow = queuePair.createFlow(
                new FlowRule(1).add(new FlowSpecification.Count(counted)).add(new FlowSpecification.Apply(action)));
        attached.attachToFlow(CounterDescription.BYTES, 0, flow);
        add(flow, queuePair, counted, attached, action);
    }

    /** Receives that nobody fills, messages that nobody takes, completions that nobody polls. */
    private void leaveWork(QueuePair queuePair) {
        if (queuePair.sharedReceiveQueue() == null && random.nextBoolean()) {
            queuePair.postReceive(receive());
        }
        if (queuePair.type() == QueuePairType.UD && random.nextBoolean()) {
            // The kernel destroys no queue pair that is still attached to a group.
            queuePair.attachMulticast(GROUP, 0);
        }
        SendWorkRequest send = sendFrom(queuePair);
        for (int i = random.nextInt(4); i > 0 && send != null; i--) {
            queuePair.tryPostSend(send);
        }
    }

    /** An empty message of a queue pair to itself, or null where there is no way. */
    private SendWorkRequest sendFrom(QueuePair queuePair) {
        SendWorkRequest send = SendWorkRequest.allocate(arena, 0).signaled(true).send();
        if (queuePair.type() != QueuePairType.UD) {
            return send;
        }
        AddressHandle way = any(
                AddressHandle.class, candidate -> candidate.protectionDomain.root == queuePair.protectionDomain().root);
        return way == null ? null : send.to(way, queuePair.number(), QKEY);
    }

    /** Leaves batches of the calling thread open on some extended queues. */
    void openBatches() {
        for (ExtendedQueuePair queuePair : of(ExtendedQueuePair.class)) {
            if (random.nextBoolean()) {
                WorkRequestBuilder batch = queuePair.startWorkRequests();
                if (queuePair.type() == QueuePairType.RC) {
                    batch.send();
                }
            }
        }
        for (ExtendedCompletionQueue queue : of(ExtendedCompletionQueue.class)) {
            if (random.nextBoolean()) {
                queue.startPoll();
            }
        }
    }

    /** Makes an object for one of another tree, if there is one for each that it uses. */
    private void borrow(RandomTree lender, VerbsObject lent) {
        boolean complete = lender.uses.get(lent).stream().allMatch(used -> mine(used) != null);
        boolean pretended = lent instanceof QueuePair pair && !lender.ready.contains(pair);
        if (!complete || pretended || lent instanceof Context) {
            return;
        }
        long address = lent.nativeAddress();
        Ownership borrowed = Ownership.BORROWED;
        switch (lent) {
            case ParentDomain domain -> {
                ProtectionDomain of = mine(domain.protectionDomain());
                add(ParentDomain.ofNativeAddress(of, address, borrowed), of);
            }
            case ProtectionDomain domain -> add(ProtectionDomain.ofNativeAddress(context, address, borrowed));
            case ThreadDomain domain -> add(ThreadDomain.ofNativeAddress(context, address, borrowed));
            case XrcDomain domain -> add(XrcDomain.ofNativeAddress(context, address, borrowed));
            case CompletionChannel channel -> add(CompletionChannel.ofNativeAddress(context, address, borrowed));
            case ExtendedCompletionQueue queue ->
                add(ExtendedCompletionQueue.ofNativeAddress(context, address, borrowed), channelOf(lender, queue));
            case CompletionQueue queue ->
                add(CompletionQueue.ofNativeAddress(context, address, borrowed), channelOf(lender, queue));
            case DeviceMemory memory ->
                add(DeviceMemory.ofNativeAddress(context, address, memory.byteSize(), borrowed));
            case MemoryRegion region -> {
                ProtectionDomain domain = mine(region.protectionDomain());
                add(MemoryRegion.ofNativeAddress(domain, address, borrowed, AccessFlag.LOCAL_WRITE), domain);
            }
            case AddressHandle handle -> {
                ProtectionDomain domain = mine(handle.protectionDomain);
                add(AddressHandle.ofNativeAddress(domain, address, borrowed), domain);
            }
            case MemoryWindow window -> {
                ProtectionDomain domain = mine(window.protectionDomain());
                add(MemoryWindow.ofNativeAddress(domain, address, borrowed), domain);
            }
            case SharedReceiveQueue queue -> {
                ProtectionDomain domain = mine(queue.protectionDomain());
                add(SharedReceiveQueue.ofNativeAddress(domain, address, borrowed), domain);
            }
            case WorkQueue queue -> {
                ProtectionDomain domain = mine(queue.protectionDomain());
                CompletionQueue completions = mine(queue.completionQueue());
                WorkQueueOptions options = new WorkQueueOptions(completions);
                add(WorkQueue.ofNativeAddress(domain, options, address, borrowed), domain, completions);
            }
            case ReceiveIndirectionTable table -> {
                List<WorkQueue> queues =
                        table.workQueues().stream().map(this::mine).toList();
                add(
                        ReceiveIndirectionTable.ofNativeAddress(context, queues, address, borrowed),
                        queues.toArray(VerbsObject[]::new));
            }
            case QueuePair pair -> borrow(lender, pair);
            case Counters counters -> add(Counters.ofNativeAddress(context, address, borrowed));
            case FlowActionEsp action -> add(FlowActionEsp.ofNativeAddress(context, address, borrowed));
            case Flow flow -> {
                QueuePair pair = mine(flow.queuePair());
                add(Flow.ofNativeAddress(pair, address, borrowed), pair);
            }
            default -> throw new AssertionError("no way to borrow " + lent);
        }
    }

    private void borrow(RandomTree lender, QueuePair lent) {
        ProtectionDomain domain = mine(lent.protectionDomain());
        CompletionQueue sends = mine(lent.sendQueue());
        CompletionQueue receives = mine(lent.receiveQueue());
        long address = lent.nativeAddress();
        QueuePair made = lent instanceof ExtendedQueuePair extended
                ? ExtendedQueuePair.ofNativeAddress(
                        domain, sends, receives, extended.sendOperations(), address, Ownership.BORROWED)
                : QueuePair.ofNativeAddress(domain, sends, receives, address, Ownership.BORROWED);
        add(made, lender.uses.get(lent).stream().map(this::mine).toArray(VerbsObject[]::new));
    }

    private VerbsObject channelOf(RandomTree lender, CompletionQueue queue) {
        return lender.uses.get(queue).stream()
                .filter(CompletionChannel.class::isInstance)
                .map(this::mine)
                .findFirst()
                .orElse(context);
    }

    /** The object here of a native one of another tree, or null. */
    @SuppressWarnings("unchecked")
    private <T extends VerbsObject> T mine(T lent) {
        return lent instanceof Context ? (T) context : (T) context.find(lent.address);
    }

    /** The objects, what is used before what uses it. */
    List<VerbsObject> objects() {
        return List.copyOf(uses.keySet());
    }

    /** All that uses an object, directly or not, and the object itself. */
    Set<VerbsObject> closedWith(VerbsObject object) {
        Set<VerbsObject> closed = new HashSet<>(Set.of(object));
        uses.forEach((user, used) -> {
            if (used.stream().anyMatch(closed::contains)) {
                closed.add(user);
            }
        });
        return closed;
    }

    /** Native objects that have not ended. */
    Set<Long> alive() {
        return driver.lives().alive();
    }

    /** Everything of this tree has ended, once and in order, and nothing that it borrowed. */
    void assertEnded() {
        assertEquals(List.of(), driver.lives().faults());
        List<Long> ended = driver.lives().ended();
        uses.forEach((user, used) -> {
            assertFalse(user.isOpen(), user::toString);
            if (user.isBorrowed()) {
                assertTrue(alive().contains(user.address), () -> user + " belongs to somebody else");
                return;
            }
            assertEquals(1, Collections.frequency(ended, user.address), () -> user + " ends once");
            int end = ended.indexOf(user.address);
            for (VerbsObject each : used) {
                assertTrue(each.isBorrowed() || end < ended.indexOf(each.address), () -> user + " ends before " + each);
            }
        });
        buffers.forEach(buffer -> assertFalse(buffer.isOpen(), buffer::toString));
    }

    /** Something that a thread does with the objects again and again, until one that it takes is closed. */
    final class User {
        private final Random choice;
        private final WorkCompletions completions = new WorkCompletions(arena, 16);
        private final ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 0);
        private final Map<QueuePair, SendWorkRequest> sends = new HashMap<>();

        User(long seed) {
            choice = new Random(seed);
            ready.forEach(queuePair -> sends.put(queuePair, sendFrom(queuePair)));
        }

        /** Uses an object in the way of its kind. */
        void use() throws InterruptedException {
            List<VerbsObject> all = objects();
            switch (all.get(choice.nextInt(all.size()))) {
                case Context opened -> opened.awaitAsyncEvent(Duration.ZERO);
                case CompletionChannel channel -> channel.await(Duration.ofMillis(1));
                case ExtendedCompletionQueue queue when choice.nextBoolean() -> readAll(queue);
                case CompletionQueue queue -> {
                    queue.requestNotification(false);
                    queue.poll(completions);
                }
                case SharedReceiveQueue queue -> queue.tryPostReceive(receive);
                case WorkQueue queue -> queue.tryPostReceive(receive);
                case ExtendedQueuePair queuePair
                when choice.nextBoolean() -> {
                    try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
                        batch.signaled(true);
                    }
                }
                case QueuePair queuePair
                when sends.get(queuePair) != null -> {
                    queuePair.tryPostSend(sends.get(queuePair));
                    if (queuePair.sharedReceiveQueue() == null) {
                        queuePair.tryPostReceive(receive);
                    }
                }
                case MemoryWindow window -> {
                    for (Binding binding : bindings) {
                        if (binding.window == window) {
                            binding.queuePair.tryBind(window, binding.part, BIND, true);
                        }
                    }
                }
                default -> {}
            }
        }

        private static void readAll(ExtendedCompletionQueue queue) {
            if (queue.startPoll()) {
                try {
                    do {
                        queue.cursor.id();
                    } while (queue.nextPoll());
                } finally {
                    queue.endPoll();
                }
            }
        }
    }
}
