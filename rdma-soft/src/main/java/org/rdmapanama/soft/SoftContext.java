package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import java.util.SortedMap;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * One open context of {@code soft0}: the verbs, on C structures. The module rdma-panama calls it on any thread. It
 * executes the calls of the data path itself, and forwards the others to a class for each kind of object. Each method
 * takes the lock of the device itself where it needs it; polling an empty completion queue takes packets instead
 * of waiting for the thread of the device, see {@link ProgressEngine#progress}.
 */
public final class SoftContext extends ProviderContext {
    private static final long CQ_HANDLE = ibv_cq.handle$offset();

    private final SoftDevice device;
    private final NativeBlock struct = new NativeBlock(ibv_context.sizeof() + Pthread.MUTEX_GROWTH);
    private final SendVerbs sendVerbs;
    private final CompletionVerbs completionVerbs;

    private final AsyncEvents events = new AsyncEvents();
    private final MemoryVerbs memory;
    private final CompletionQueueVerbs queues;
    private final SharedReceiveVerbs sharedReceives;
    private final DeviceQueries queries;
    private final QueuePairVerbs pairs;
    private final AddressHandleVerbs addresses;

    SoftContext(SoftDevice device) {
        this.device = device;
        memory = new MemoryVerbs(this);
        queues = new CompletionQueueVerbs(this);
        sharedReceives = new SharedReceiveVerbs(this);
        queries = new DeviceQueries(device);
        pairs = new QueuePairVerbs(this);
        addresses = new AddressHandleVerbs(this);
        sendVerbs = new SoftSendVerbs(device);
        completionVerbs = new SoftCompletionVerbs(device);
        MemorySegment context = Native.struct(struct.address(), ibv_context.layout());
        ibv_context.device(context, MemorySegment.ofAddress(device.description()));
        ibv_context.cmd_fd(context, -1);
        ibv_context.async_fd(context, -1);
        ibv_context.num_comp_vectors(context, 1);
    }

    @Override
    public String cure(int errno) {
        return errno == Errno.ENETUNREACH ? device.cureOfFewAddresses() : null;
    }

    public SoftDevice device() {
        return device;
    }

    @Override
    public long address() {
        return struct.address();
    }

    @Override
    public String driver() {
        return "soft";
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
        Leftovers.destroy(this);
        device.close(this);
        struct.free();
        return 0;
    }

    // The device and its port.

    @Override
    public int queryDevice(long attributes) {
        return queries.queryDevice(attributes);
    }

    @Override
    public int queryPort(int port, long attributes) {
        return queries.queryPort(port, attributes);
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        return queries.queryGidTable(entries, capacity);
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        return queries.queryGid(port, index, gid);
    }

    @Override
    public int queryGidEx(int port, int index, long entry) {
        return queries.queryGidEx(port, index, entry);
    }

    @Override
    public int queryPkey(int port, int index) {
        return queries.queryPkey(port, index);
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return queries.pkeyIndex(port, pkey);
    }

    @Override
    public SortedMap<String, Long> portCounters(String deviceName, int port) {
        return port == 1 ? device.counts.all() : null;
    }

    // Asynchronous events.

    /** Queues an asynchronous event of an object, or of none (0). The caller may hold other locks. */
    void asyncEvent(int type, long object) {
        events.add(type, object);
    }

    AsyncEvents events() {
        return events;
    }

    @Override
    public ReadySource asyncEvents() {
        return events.source();
    }

    @Override
    public int getAsyncEvent(long event) {
        return events.take(event);
    }

    @Override
    public void ackAsyncEvent(long event) {
        events.acknowledge(event);
    }

    // Protection domains and memory.

    MemoryVerbs memory() {
        return memory;
    }

    @Override
    public long allocateProtectionDomain() {
        return memory.allocateProtectionDomain();
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        return memory.deallocateProtectionDomain(protectionDomain);
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        return memory.registerMemory(protectionDomain, address, length, iova, access);
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        return memory.deregisterMemory(memoryRegion);
    }

    @Override
    public long allocateMemoryWindow(long protectionDomain, int type) {
        return memory.allocateMemoryWindow(protectionDomain, type);
    }

    @Override
    public int deallocateMemoryWindow(long memoryWindow) {
        return memory.deallocateMemoryWindow(memoryWindow);
    }

    @Override
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        return memory.bindMemoryWindow(queuePair, memoryWindow, bind);
    }

    // Completion channels and queues.

    @Override
    public long createCompletionChannel() {
        return queues.createCompletionChannel();
    }

    @Override
    public int destroyCompletionChannel(long address) {
        return queues.destroyCompletionChannel(address);
    }

    @Override
    public ReadySource completionEvents(long address) {
        return queues.completionEvents(address);
    }

    @Override
    public long getCompletionEvent(long address) {
        return queues.getCompletionEvent(address);
    }

    @Override
    public void ackCompletionEvent(long address, long completionQueue) {
        queues.ackCompletionEvent(address, completionQueue);
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return queues.createCompletionQueue(entries, cqContext, channel, completionVector);
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        return queues.createExtendedCompletionQueue(attributes);
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        return queues.destroyCompletionQueue(completionQueue);
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        return queues.resizeCompletionQueue(completionQueue, entries);
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        return queues.requestNotification(completionQueue, solicitedOnly);
    }

    SoftCompletionQueue queue(long address) {
        return device.completionQueues.get(Memory.getInt(address + CQ_HANDLE));
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        SoftCompletionQueue queue = queue(completionQueue);
        if (queue.isEmpty()) {
            device.engine.progress();
        }
        return queue.isEmpty() ? 0 : queue.poll(capacity, completions);
    }

    // Shared receive queues.

    @Override
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        return sharedReceives.createSharedReceiveQueue(protectionDomain, initialAttributes);
    }

    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        return sharedReceives.createExtendedSharedReceiveQueue(initialAttributes);
    }

    @Override
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        return sharedReceives.modifySharedReceiveQueue(sharedReceiveQueue, attributes, mask);
    }

    @Override
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        return sharedReceives.querySharedReceiveQueue(sharedReceiveQueue, attributes);
    }

    @Override
    public int destroySharedReceiveQueue(long sharedReceiveQueue) {
        return sharedReceives.destroySharedReceiveQueue(sharedReceiveQueue);
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        device.lock();
        try {
            return -sharedReceives.shared(sharedReceiveQueue).receives.post(workRequest, bad);
        } finally {
            device.unlock();
        }
    }

    SoftSharedReceiveQueue sharedReceive(long address) {
        return sharedReceives.shared(address);
    }

    // Queue pairs.

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        return pairs.createQueuePair(protectionDomain, initialAttributes);
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        return pairs.createExtendedQueuePair(initialAttributes);
    }

    @Override
    public long extended(long queuePair) {
        return pairs.extended(queuePair);
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        return pairs.modifyQueuePair(queuePair, attributes, mask);
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        return pairs.queryQueuePair(queuePair, attributes, mask, initialAttributes);
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        return pairs.destroyQueuePair(queuePair);
    }

    @Override
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        return pairs.queryDataInOrder(queuePair, opcode, flags);
    }

    @Override
    public int attachMulticast(long queuePair, long gid, int lid) {
        return pairs.attachMulticast(queuePair, gid, lid);
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        return pairs.detachMulticast(queuePair, gid, lid);
    }

    SoftQueuePair queuePair(long address) {
        return pairs.queuePair(address);
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        device.lock();
        try {
            return -queuePair(queuePair).postSend(workRequest, bad);
        } finally {
            device.unlock();
        }
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        device.lock();
        try {
            return -queuePair(queuePair).postReceive(workRequest, bad);
        } finally {
            device.unlock();
        }
    }

    // Address handles.

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        return addresses.createAddressHandle(protectionDomain, attributes);
    }

    @Override
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return addresses.initAddressFromCompletion(port, completion, grh, attributes);
    }

    @Override
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        return addresses.createAddressHandleFromCompletion(protectionDomain, completion, grh, port);
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        return addresses.destroyAddressHandle(addressHandle);
    }
}
