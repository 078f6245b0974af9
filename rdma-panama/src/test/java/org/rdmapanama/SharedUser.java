package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.waiting.RandomUser;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.pool.RegisteredBuffer;
import org.rdmapanama.pool.RegisteredPool;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.queue.SendOperation;
import org.rdmapanama.testing.LabDevices;

/**
 * A thread's random calls on objects that others use, change and close at the same time. What comes back must be a result
 * or one of the exceptions that the API documents.
 */
@SuppressWarnings("CheckReturnValue") // objects that are only there
final class SharedUser extends RandomUser<SharedUser> {
    private static final int BYTES = 4096;
    private static final Duration SHORT = Duration.ofMillis(1);
    private static final Gid GROUP = Gid.parse("ff0e0000000000000000000000000043");

    private static final List<Action<SharedUser>> ACTIONS = weighted(
            new Action<>("allocateProtectionDomain", 1, SharedUser::makeDomain),
            new Action<>("createCompletionChannel", 1, SharedUser::makeChannel),
            new Action<>("createCompletionQueue", 4, SharedUser::makeQueue),
            new Action<>("register", 4, SharedUser::makeRegion),
            new Action<>("RegisteredPool.create", 1, SharedUser::makePool),
            new Action<>("createSharedReceiveQueue", 2, SharedUser::makeSharedReceiveQueue),
            new Action<>("createAddressHandle", 2, SharedUser::makeAddressHandle),
            new Action<>("allocateMemoryWindow", 2, SharedUser::makeWindow),
            new Action<>("createQueuePair", 6, SharedUser::makeQueuePair),
            new Action<>("postSend", 20, SharedUser::postSend),
            new Action<>("postReceive", 10, SharedUser::postReceive),
            new Action<>("startWorkRequests", 12, SharedUser::writeBatch),
            new Action<>("bind", 3, SharedUser::bind),
            new Action<>("SharedReceiveQueue", 5, SharedUser::useSharedReceiveQueue),
            new Action<>("poll", 20, SharedUser::poll),
            new Action<>("startPoll", 14, SharedUser::readBatch),
            new Action<>("requestNotification", 4, SharedUser::requestNotification),
            new Action<>("CompletionQueue.resize", 3, SharedUser::resize),
            new Action<>("CompletionChannel.await", 2, SharedUser::awaitCompletion),
            new Action<>("awaitAsyncEvent", 1, SharedUser::awaitEvent),
            new Action<>("modify", 14, SharedUser::modify),
            new Action<>("connect", 10, SharedUser::connect),
            new Action<>("query", 3, SharedUser::query),
            new Action<>("multicast", 2, SharedUser::multicast),
            new Action<>("reregister", 2, SharedUser::reregister),
            new Action<>("pool", 5, SharedUser::usePool),
            new Action<>("close", 4, SharedUser::closeAny),
            new Action<>("Context.close", 1, SharedUser::closeContext),
            new Action<>("interrupt", 3, SharedUser::interruptAny));

    /** What a driver refuses in some states, or where others have done it already. */
    private static final Set<String> DEPEND_ON_STATE = Set.of(
            "postSend",
            "postReceive",
            "startWorkRequests",
            "bind",
            "modify",
            "connect",
            "createQueuePair",
            "multicast",
            "CompletionQueue.resize",
            "SharedReceiveQueue");

    private final VerbsArena arena;
    private final Supplier<Context> opener;
    private final SharedObjects objects;
    private final WorkCompletions completions;
    private final SendWorkRequest send;
    private final ReceiveWorkRequest receive;

    /** Within how many batches this thread is. */
    private int depth;

    /**
     * Made before its thread is.
     *
     * @param threads those that it interrupts now and then
     */
    SharedUser(VerbsArena arena, Supplier<Context> opener, SharedObjects objects, Random random, List<Thread> threads) {
        super(ACTIONS, random, threads);
        this.arena = arena;
        this.opener = opener;
        this.objects = objects;
        completions = new WorkCompletions(arena, 8);
        send = SendWorkRequest.allocate(arena, 2);
        receive = ReceiveWorkRequest.allocate(arena, 2);
    }

    @Override
    protected SharedUser self() {
        return this;
    }

    /** Ends with a batch open, which nobody can end any more. */
    void abandonBatch() {
        try {
            if (any(QueuePair.class) instanceof ExtendedQueuePair queuePair) {
                queuePair.startWorkRequests();
                remember("abandons " + queuePair);
            }
        } catch (IllegalStateException | NothingThere e) {
            // It has one open already, or is closed.
            remember("abandons nothing: " + e);
        }
    }

    @Override
    protected boolean isExpected(Action<SharedUser> action, Exception e) {
        return switch (e) {
            case InterruptedException interrupted -> action.name().contains("wait");
            // Closed, in a batch, in a state in which that cannot be.
            case IllegalStateException state -> state.getClass() == IllegalStateException.class;
            case UnsupportedVerbException unsupported -> true;
            case VerbsException failed -> isRefusal(action, failed);
            // Of another context or protection domain, or not in this state.
            case IllegalArgumentException wrong -> wrong.getClass() == IllegalArgumentException.class;
            default -> false;
        };
    }

    /** What a driver says when it is the wrong moment. Making and closing objects never fails. */
    private static boolean isRefusal(Action<SharedUser> action, VerbsException e) {
        boolean overrun = action.name().equals("poll") || action.name().equals("startPoll");
        return overrun
                || action.name().equals("reregister")
                || (DEPEND_ON_STATE.contains(action.name()) && e.errno() == Errno.EINVAL);
    }

    private <T> T any(Class<T> kind) {
        return any(kind, object -> true);
    }

    /** One that is open, as a rule. */
    private <T> T any(Class<T> kind, Predicate<? super T> suits) {
        T object = objects.any(kind, random, candidate -> isOpen(candidate) && suits.test(candidate));
        if (object == null) {
            throw new NothingThere();
        }
        return object;
    }

    private static boolean isOpen(Object object) {
        return object instanceof RegisteredPool pool ? pool.region().isOpen() : ((VerbsObject) object).isOpen();
    }

    /** One of the same device as another object, as a rule. */
    private <T extends ContextObject> T any(Class<T> kind, ContextObject other) {
        return any(kind, candidate -> candidate.context == other.context);
    }

    /** One to make others on. */
    private Context context() {
        Context context = objects.any(Context.class, random, Context::isOpen);
        return context != null && context.isOpen() ? context : open();
    }

    private ProtectionDomain domain() {
        ProtectionDomain domain = objects.any(ProtectionDomain.class, random, ProtectionDomain::isOpen);
        return domain != null && domain.isOpen() ? domain : makeDomain();
    }

    private <T extends AutoCloseable> T keep(Class<T> kind, T object) {
        T replaced = objects.put(kind, object, random);
        boolean isRoot = replaced instanceof Context || replaced instanceof ProtectionDomain;
        // What is not closed now its parents close, and the arena.
        if (replaced != null && random.nextInt(isRoot ? 20 : 3) == 0) {
            close(replaced);
        }
        return object;
    }

    private static void close(Object object) {
        try {
            ((AutoCloseable) object).close();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception impossible) {
            throw new AssertionError(impossible);
        }
    }

    private Context open() {
        return keep(Context.class, opener.get());
    }

    private ProtectionDomain makeDomain() {
        return keep(ProtectionDomain.class, context().allocateProtectionDomain());
    }

    private Object makeChannel() {
        return keep(CompletionChannel.class, context().createCompletionChannel());
    }

    private Object makeQueue() {
        Context context = context();
        int entries = 16 + random.nextInt(100);
        CompletionChannel channel = random.nextBoolean()
                ? objects.any(CompletionChannel.class, random, known -> known.context == context && known.isOpen())
                : null;
        return keep(
                CompletionQueue.class,
                random.nextInt(3) == 0
                        ? context.createCompletionQueue(entries, channel, 0)
                        : context.createCompletionQueue(new CompletionQueueOptions(entries)
                                .channel(channel)
                                .fields(CompletionField.BYTE_LEN, CompletionField.QP_NUM)));
    }

    private MemorySegment memory() {
        return arena.allocate(BYTES, 4096);
    }

    private Object makeRegion() {
        AccessFlag[] access = {
            AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ, AccessFlag.MW_BIND
        };
        return keep(MemoryRegion.class, domain().register(memory(), access));
    }

    private Object makePool() {
        return keep(RegisteredPool.class, RegisteredPool.create(domain(), BYTES, AccessFlag.LOCAL_WRITE));
    }

    private Object makeSharedReceiveQueue() {
        return keep(
                SharedReceiveQueue.class,
                domain().createSharedReceiveQueue(new SharedReceiveQueueOptions().maxWorkRequests(16)));
    }

    private AddressVector toItself(Context context) {
        GidEntry own = context.preferredGid(1).orElseThrow();
        return AddressVector.toGid(1, own.index(), own.gid());
    }

    private Object makeAddressHandle() {
        ProtectionDomain domain = domain();
        return keep(AddressHandle.class, domain.createAddressHandle(toItself(domain.context())));
    }

    private Object makeWindow() {
        MemoryWindowType type = random.nextBoolean() ? MemoryWindowType.TYPE_1 : MemoryWindowType.TYPE_2;
        return keep(MemoryWindow.class, domain().allocateMemoryWindow(type));
    }

    private Object makeQueuePair() {
        ProtectionDomain domain = domain();
        QueuePairType type = random.nextInt(4) == 0 ? QueuePairType.UD : QueuePairType.RC;
        QueuePairOptions options = new QueuePairOptions(
                        type, any(CompletionQueue.class, domain), any(CompletionQueue.class, domain))
                .maxSendWorkRequests(8)
                .maxReceiveWorkRequests(8)
                .maxSegments(2, 2);
        if (random.nextInt(4) == 0) {
            options.sharedReceiveQueue(any(SharedReceiveQueue.class, domain));
        }
        SendOperation[] operations = type == QueuePairType.UD
                ? new SendOperation[] {SendOperation.SEND}
                : new SendOperation[] {SendOperation.SEND, SendOperation.RDMA_WRITE};
        QueuePair made = random.nextInt(3) > 0
                ? domain.createExtendedQueuePair(options.sendOperations(operations))
                : domain.createQueuePair(options);
        if (random.nextInt(4) > 0) {
            connect(made);
        }
        return keep(QueuePair.class, made);
    }

    private Object connect() {
        QueuePair queuePair = any(QueuePair.class);
        if (queuePair.state() != QueuePairState.RESET) {
            queuePair.modify(new QueuePairAttributes().state(QueuePairState.RESET));
        }
        return connect(queuePair);
    }

    private static Object connect(QueuePair queuePair) {
        Endpoint local = queuePair.localEndpoint(LabDevices.connectOptions());
        if (queuePair.type() == QueuePairType.UD) {
            queuePair.activate();
        } else {
            queuePair.connect(local);
        }
        return queuePair;
    }

    private Object modify() {
        QueuePair queuePair = any(QueuePair.class);
        List<QueuePairState> states = List.of(
                QueuePairState.RESET,
                QueuePairState.ERR,
                QueuePairState.ERR,
                QueuePairState.SQD,
                QueuePairState.RTS,
                QueuePairState.INIT);
        QueuePairState state = states.get(random.nextInt(states.size()));
        if (state == QueuePairState.INIT) {
            queuePair.initialize();
        } else {
            queuePair.modify(new QueuePairAttributes().state(state));
        }
        return queuePair + " to " + state;
    }

    private Object query() {
        QueuePair queuePair = any(QueuePair.class);
        queuePair.query();
        queuePair.state();
        return queuePair;
    }

    private Object multicast() {
        QueuePair queuePair = any(QueuePair.class, known -> known.type() == QueuePairType.UD);
        if (queuePair.type() != QueuePairType.UD) {
            throw new NothingThere();
        }
        if (random.nextBoolean()) {
            queuePair.attachMulticast(GROUP, 0);
        } else {
            queuePair.detachMulticast(GROUP, 0);
        }
        return queuePair;
    }

    private Object postSend() {
        QueuePair queuePair = any(QueuePair.class);
        MemoryRegion region = any(MemoryRegion.class, queuePair);
        send.clear().id(done()).signaled(random.nextInt(4) > 0);
        if (queuePair.type() == QueuePairType.UD) {
            send.send()
                    .to(
                            any(AddressHandle.class),
                            queuePair.number(),
                            LabDevices.connectOptions().qkey());
        } else {
            switch (random.nextInt(4)) {
                case 0 -> send.send();
                case 1 -> {
                    return queuePair + ": " + postBinding(queuePair, region);
                }
                case 2 -> send.rdmaRead(region.address(), region.rkey());
                default -> send.rdmaWrite(region.address(), region.rkey());
            }
        }
        return queuePair + ": " + queuePair.tryPostSend(send.add(region, 0, random.nextInt(64)));
    }

    private int postBinding(QueuePair queuePair, MemoryRegion region) {
        MemoryWindow window = any(
                MemoryWindow.class,
                known -> known.type() == MemoryWindowType.TYPE_2 && known.context == region.context);
        MemoryWindowBinding part = new MemoryWindowBinding(region, 0, 64, AccessFlag.REMOTE_WRITE);
        return queuePair.tryPostSend(send.bindMemoryWindow(window, window.nextRkey(), part));
    }

    private Object bind() {
        QueuePair queuePair = any(QueuePair.class);
        MemoryWindow window = any(MemoryWindow.class);
        MemoryWindowBinding part = new MemoryWindowBinding(any(MemoryRegion.class), 0, 64, AccessFlag.REMOTE_WRITE);
        return queuePair + ": " + queuePair.tryBind(window, part, done(), true);
    }

    private Object postReceive() {
        QueuePair queuePair = any(QueuePair.class);
        receive.clear().id(done()).add(any(MemoryRegion.class, queuePair), 0, 128);
        return queuePair + ": " + queuePair.tryPostReceive(receive);
    }

    private Object useSharedReceiveQueue() {
        SharedReceiveQueue queue = any(SharedReceiveQueue.class);
        switch (random.nextInt(4)) {
            case 0 -> queue.query();
            case 1 -> queue.armLimit(1 + random.nextInt(4));
            case 2 -> queue.resize(16 + random.nextInt(16));
            default -> queue.tryPostReceive(receive.clear().add(any(MemoryRegion.class, queue), 0, 128));
        }
        return queue;
    }

    /** Sometimes with another call in the middle of a batch. */
    private void meanwhile() {
        if (depth == 0 && random.nextInt(6) == 0) {
            depth++;
            try {
                act();
            } finally {
                depth--;
            }
        }
    }

    private Object writeBatch() {
        if (!(any(QueuePair.class, ExtendedQueuePair.class::isInstance) instanceof ExtendedQueuePair queuePair)) {
            throw new NothingThere();
        }
        MemoryRegion region = any(MemoryRegion.class, queuePair);
        try (WorkRequestBuilder batch = queuePair.startWorkRequests()) {
            batch.id(done()).signaled(random.nextBoolean());
            if (queuePair.type() == QueuePairType.UD) {
                batch.send()
                        .to(
                                any(AddressHandle.class),
                                queuePair.number(),
                                LabDevices.connectOptions().qkey());
            } else {
                batch.rdmaWrite(region.address(), region.rkey());
            }
            meanwhile();
            batch.add(region, 0, random.nextInt(64));
            switch (random.nextInt(4)) {
                case 0 -> batch.abort();
                case 1 -> {}
                default -> batch.tryComplete();
            }
        }
        return queuePair;
    }

    private Object poll() {
        CompletionQueue queue = any(CompletionQueue.class);
        return queue + ": " + queue.poll(completions);
    }

    private Object readBatch() {
        if (!(any(CompletionQueue.class, ExtendedCompletionQueue.class::isInstance)
                instanceof ExtendedCompletionQueue queue)) {
            throw new NothingThere();
        }
        if (queue.startPoll()) {
            try {
                do {
                    queue.cursor.describe();
                    meanwhile();
                } while (random.nextInt(4) > 0 && queue.nextPoll());
            } finally {
                endPoll(queue);
            }
        }
        return queue;
    }

    /** A call in the batch may have closed the queue, and ended the batch. */
    private static void endPoll(ExtendedCompletionQueue queue) {
        try {
            queue.endPoll();
        } catch (IllegalStateException e) {
            if (queue.isOpen()) {
                throw new AssertionError("a batch of this thread is open", e);
            }
        }
    }

    private Object requestNotification() {
        CompletionQueue queue = any(CompletionQueue.class);
        queue.requestNotification(random.nextBoolean());
        return queue;
    }

    private Object resize() {
        CompletionQueue queue = any(CompletionQueue.class);
        queue.resize(16 + random.nextInt(200));
        return queue;
    }

    private Object awaitCompletion() throws InterruptedException {
        CompletionChannel channel = any(CompletionChannel.class);
        return channel + ": " + channel.await(SHORT);
    }

    private Object awaitEvent() throws InterruptedException {
        Context context = any(Context.class);
        return context + ": " + context.awaitAsyncEvent(SHORT);
    }

    private Object reregister() {
        // Where it fails, the region cannot be used any more.
        seldom();
        MemoryRegion region = any(MemoryRegion.class);
        region.reregister(new Reregistration().access(AccessFlag.LOCAL_WRITE));
        return region;
    }

    private Object usePool() {
        RegisteredPool pool = any(RegisteredPool.class);
        try (RegisteredBuffer buffer = pool.tryAllocate(1 + random.nextInt(BYTES), 1)) {
            if (buffer != null) {
                buffer.memory().fill((byte) done());
                pool.freeBytes();
            }
        }
        return pool;
    }

    private Object closeAny() {
        Object object = objects.any(random);
        if (object == null) {
            throw new NothingThere();
        }
        if (object instanceof ProtectionDomain) {
            seldom();
        }
        close(object);
        return object;
    }

    /** With what most others stand on there would be nothing left to call. */
    private void seldom() {
        if (random.nextInt(20) > 0) {
            throw new NothingThere();
        }
    }

    private Object closeContext() {
        seldom();
        Context context = any(Context.class);
        context.close();
        return context;
    }

    private Object interruptAny() {
        Thread thread = threads.get(random.nextInt(threads.size()));
        thread.interrupt();
        return thread.getName();
    }
}
