package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.interleaving.Steps;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.testing.WrittenMethods;

/**
 * A driver with the locks of the strictest real ones, that complains of what would hang or crash those: a second call into a
 * queue whose lock a batch holds, and an object that is used while or after it is destroyed. For explorations: other
 * threads can go on in the middle of each call.
 */
abstract class FakeDriver extends ProviderContext {
    private static final long STRUCT_BYTES = 4096;
    private static final int ENOENT = 2;

    /** For one driver at a time, and the same places each time: the order of some things depends on them. */
    private static final MemorySegment MEMORY = Arena.global().allocate(32 * STRUCT_BYTES, STRUCT_BYTES);

    private long used;
    private final long address = struct();
    private final Set<Long> alive = new HashSet<>(Set.of(address));
    private final Map<Long, Integer> calls = new HashMap<>();

    /** By the address of the queue. */
    private final Map<Long, Thread> locks = new HashMap<>();

    /** The completion queues that tell of their next completion. */
    private final Set<Long> armed = new HashSet<>();

    /** How many clear a completion queue. */
    private final Map<Long, Integer> clearing = new HashMap<>();

    /** The completion queues of queue pairs. */
    private final Map<Long, Set<Long>> reports = new HashMap<>();

    /** Identifiers of work requests, which begin with them. */
    private final Deque<Long> completed = new ArrayDeque<>();

    /** How many completions a batch finds. */
    int completions = 1;

    /** How many events the channels have. */
    int events;

    /** What modifying a queue pair takes before anything else, such as the time to find a peer's address. */
    volatile Runnable modifying = () -> {};

    /** What making a queue pair does in addition, such as calling an allocator of the program. */
    Runnable making = () -> {};

    /** With which errno registering memory fails, or 0. */
    int registering;

    /** Which queue the events are of. */
    long telling;

    /** What acknowledging an event does. */
    Runnable acknowledging = () -> {};

    /** What looking for an event takes before anything else. */
    volatile Runnable looking = () -> {};

    private final ReadySource completionEvents = ReadySource.of(() -> events > 0);

    private final CompletionVerbs completionVerbs = WrittenMethods.throwing(MethodHandles.lookup(), Completions.class);
    private final SendVerbs sendVerbs = WrittenMethods.throwing(MethodHandles.lookup(), Sends.class);

    static FakeDriver create() {
        FakeDriver driver = WrittenMethods.throwing(MethodHandles.lookup(), FakeDriver.class);
        ((Completions) driver.completionVerbs).driver = driver;
        ((Sends) driver.sendVerbs).driver = driver;
        return driver;
    }

    Context open(VerbsArena arena) {
        Provider none = null;
        Device device = new Device(
                new ProviderDevice(none, "fake0", rdma_h.IBV_NODE_CA(), rdma_h.IBV_TRANSPORT_IB(), 0, 0, ""));
        return Context.open(arena, device, () -> this);
    }

    /** Nothing is left of what was made. */
    void checkAllEnded() {
        if (!alive.isEmpty() || !locks.isEmpty()) {
            throw new AssertionError("left: " + alive + ", locked: " + locks);
        }
    }

    private long struct() {
        MemorySegment struct = MEMORY.asSlice(used, STRUCT_BYTES).fill((byte) 0);
        used += STRUCT_BYTES;
        return struct.address();
    }

    private long made() {
        Steps.step();
        long made = struct();
        alive.add(made);
        return made;
    }

    private void begin(long object) {
        if (!alive.contains(object)) {
            throw new AssertionError("used after it was destroyed");
        }
        calls.merge(object, 1, Integer::sum);
        Steps.step();
    }

    private void end(long object) {
        Steps.step();
        calls.merge(object, -1, Integer::sum);
    }

    private int call(long object) {
        begin(object);
        end(object);
        return 0;
    }

    private int destroy(long object) {
        Steps.step();
        if (calls.getOrDefault(object, 0) > 0) {
            throw new AssertionError("destroyed while a call is under way");
        }
        if (locks.containsKey(object)) {
            throw new AssertionError("destroyed while its lock is held");
        }
        if (!alive.remove(object)) {
            throw new AssertionError("destroyed twice");
        }
        return 0;
    }

    private void lock(long queue) {
        if (clearing.getOrDefault(queue, 0) > 0) {
            throw new AssertionError("called while it is cleared");
        }
        Thread owner = locks.putIfAbsent(queue, Thread.currentThread());
        if (owner != null) {
            throw new AssertionError("a second call into a locked queue, by "
                    + (Thread.currentThread().equals(owner) ? "the same thread" : "another thread"));
        }
    }

    private void unlock(long queue) {
        Thread owner = locks.remove(queue);
        if (owner == null || (!owner.equals(Thread.currentThread()) && owner.isAlive())) {
            throw new AssertionError("unlocked by another thread");
        }
    }

    /** Several may clear a queue: each waits for the other, but none may for a batch or a poll. */
    private void clear(Set<Long> queues) {
        for (long queue : queues) {
            if (locks.containsKey(queue)) {
                throw new AssertionError("cleared while its lock is held");
            }
            clearing.merge(queue, 1, Integer::sum);
            Steps.step();
            clearing.merge(queue, -1, Integer::sum);
        }
    }

    @Override
    public long address() {
        return address;
    }

    @Override
    public String driver() {
        return "fake";
    }

    @Override
    public SendVerbs prepareSendBatches() {
        return sendVerbs;
    }

    @Override
    public CompletionVerbs preparePollBatches(boolean singleThreaded) {
        return completionVerbs;
    }

    @Override
    public int close() {
        return destroy(address);
    }

    @Override
    public long allocateProtectionDomain() {
        return made();
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        return destroy(protectionDomain);
    }

    @Override
    public long registerMemory(long protectionDomain, long start, long length, long iova, int access) {
        call(protectionDomain);
        return registering == 0 ? made() : -registering;
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        return destroy(memoryRegion);
    }

    @Override
    public long createCompletionChannel() {
        return made();
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return destroy(channel);
    }

    @Override
    public ReadySource asyncEvents() {
        return ReadySource.of(() -> false);
    }

    @Override
    public ReadySource completionEvents(long channel) {
        return completionEvents;
    }

    @Override
    public long getCompletionEvent(long channel) {
        begin(channel);
        looking.run();
        end(channel);
        if (events == 0) {
            return 0;
        }
        events--;
        return telling == 0 ? channel : telling;
    }

    @Override
    public void ackCompletionEvent(long channel, long completionQueue) {
        call(channel);
        acknowledging.run();
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        return made();
    }

    @Override
    public long createCompletionQueue(int entries, long context, long channel, int completionVector) {
        long made = made();
        Native.MEMORY.set(JAVA_LONG, made + ibv_cq.channel$offset(), channel);
        return made;
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        begin(completionQueue);
        lock(completionQueue);
        armed.add(completionQueue);
        unlock(completionQueue);
        end(completionQueue);
        return 0;
    }

    /** Something completes, of which the channel tells if it is asked to. */
    void complete(CompletionQueue queue, long id) {
        Steps.step();
        completed.add(id);
        Steps.step();
        if (armed.remove(queue.address)) {
            telling = queue.address;
            events++;
            Steps.step();
            completionEvents.signal();
        }
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        begin(completionQueue);
        lock(completionQueue);
        Native.MEMORY.set(JAVA_INT, completionQueue + ibv_cq.cqe$offset(), entries);
        unlock(completionQueue);
        end(completionQueue);
        return 0;
    }

    int entries(CompletionQueue queue) {
        return Native.MEMORY.get(JAVA_INT, queue.address + ibv_cq.cqe$offset());
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        return destroy(completionQueue);
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long list) {
        begin(completionQueue);
        lock(completionQueue);
        Steps.step();
        unlock(completionQueue);
        end(completionQueue);
        Long id = completed.poll();
        if (id == null) {
            return 0;
        }
        Native.MEMORY.set(JAVA_LONG, list + ibv_wc.wr_id$offset(), id);
        return 1;
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        call(queuePair);
        completed.add(Native.MEMORY.get(JAVA_LONG, workRequest));
        return 0;
    }

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        throw new AssertionError("extended ones only");
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        MemorySegment attributes = Native.struct(initialAttributes, ibv_qp_init_attr.sizeof());
        Set<Long> queues = new HashSet<>(List.of(
                ibv_qp_init_attr.send_cq(attributes).address(),
                ibv_qp_init_attr.recv_cq(attributes).address()));
        clear(queues);
        making.run();
        long made = made();
        reports.put(made, queues);
        return made;
    }

    @Override
    public long extended(long queuePair) {
        return queuePair;
    }

    /** Puts a queue pair into a state by itself. */
    static void state(QueuePair queuePair, QueuePairState state) {
        Native.MEMORY.set(JAVA_INT, queuePair.address + ibv_qp.state$offset(), state.code());
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        int state = ibv_qp_attr.qp_state(Native.struct(attributes, ibv_qp_attr.sizeof()));
        begin(queuePair);
        modifying.run();
        lock(queuePair);
        if (state == QueuePairState.ERR.code() || state == QueuePairState.RESET.code()) {
            clear(reports.get(queuePair));
        }
        unlock(queuePair);
        Native.MEMORY.set(JAVA_INT, queuePair + ibv_qp.state$offset(), state);
        end(queuePair);
        return 0;
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        clear(reports.get(queuePair));
        return destroy(queuePair);
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        begin(queuePair);
        lock(queuePair);
        Steps.step();
        unlock(queuePair);
        end(queuePair);
        completed.add(Native.MEMORY.get(JAVA_LONG, workRequest));
        return 0;
    }

    /** Batches of completions. */
    abstract static class Completions extends CompletionVerbs {
        private FakeDriver driver;
        private int left;

        @Override
        public int startPoll(long completionQueue, long attributes) {
            driver.begin(completionQueue);
            try {
                driver.lock(completionQueue);
                left = driver.completions;
                return next(completionQueue);
            } finally {
                driver.end(completionQueue);
            }
        }

        private int next(long completionQueue) {
            Steps.step();
            if (left-- > 0) {
                return 0;
            }
            driver.unlock(completionQueue);
            return -ENOENT;
        }

        @Override
        public int nextPoll(long completionQueue) {
            driver.begin(completionQueue);
            int result = next(completionQueue);
            driver.end(completionQueue);
            return result;
        }

        @Override
        public void endPoll(long completionQueue) {
            driver.begin(completionQueue);
            driver.unlock(completionQueue);
            driver.end(completionQueue);
        }
    }

    /** Batches of work requests. */
    abstract static class Sends extends SendVerbs {
        private FakeDriver driver;

        @Override
        public void wrStart(long queuePair) {
            driver.call(queuePair);
            driver.lock(queuePair);
        }

        @Override
        public int wrComplete(long queuePair) {
            driver.unlock(queuePair);
            return driver.call(queuePair);
        }

        @Override
        public void wrAbort(long queuePair) {
            driver.unlock(queuePair);
            driver.call(queuePair);
        }
    }
}
