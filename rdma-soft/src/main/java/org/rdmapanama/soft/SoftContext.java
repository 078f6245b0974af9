package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.ReplyAddress;

/**
 * One open context of {@code soft0}: the verbs, on C structures. The module rdma-panama calls it on any thread. Each
 * method takes the lock of the device itself where it needs it; polling an empty completion queue takes packets instead
 * of waiting for the thread of the device, see {@link ProgressEngine#progress}.
 */
public final class SoftContext extends ProviderContext {
    private static final long QP_HANDLE = ibv_qp.qp_num$offset();
    private static final long CQ_HANDLE = ibv_cq.handle$offset();
    private static final long MR_LKEY = ibv_mr.lkey$offset();
    private static final long MW_HANDLE = ibv_mw.handle$offset();
    private static final long MW_RKEY = ibv_mw.rkey$offset();

    private final SoftDevice device;
    private final NativeBlock struct = new NativeBlock(ibv_context.sizeof() + Pthread.MUTEX_GROWTH);
    private final SendVerbs sendVerbs;
    private final CompletionVerbs completionVerbs;

    private final AsyncEvents events = new AsyncEvents();
    private final MemoryVerbs memory;
    private final CompletionQueueVerbs queues;
    private final SharedReceiveVerbs sharedReceives;

    SoftContext(SoftDevice device) {
        this.device = device;
        memory = new MemoryVerbs(this);
        queues = new CompletionQueueVerbs(this);
        sharedReceives = new SharedReceiveVerbs(this);
        sendVerbs = new SoftSendVerbs(device);
        completionVerbs = new SoftCompletionVerbs(device);
        MemorySegment context = Native.struct(struct.address(), ibv_context.layout());
        ibv_context.device(context, MemorySegment.ofAddress(device.description()));
        ibv_context.cmd_fd(context, -1);
        ibv_context.async_fd(context, -1);
        ibv_context.num_comp_vectors(context, 1);
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
    public CompletionVerbs preparePollBatches() {
        return completionVerbs;
    }

    @Override
    public int close() {
        Leftovers.destroy(this);
        device.close(this);
        struct.free();
        return 0;
    }

    // Tables.

    @Override
    public int queryDevice(long attributes) {
        DeviceTables.device(attributes, device);
        return 0;
    }

    @Override
    public int queryPort(int port, long attributes) {
        if (port != 1) {
            return -Errno.EINVAL;
        }
        DeviceTables.port(attributes, device);
        return 0;
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        int count = device.addresses().count();
        if (capacity < count) {
            return -Errno.EINVAL;
        }
        for (int i = 0; i < count; i++) {
            DeviceTables.gid(entries + i * ibv_gid_entry.sizeof(), i, device);
        }
        return count;
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        if (port != 1 || index < 0 || index >= DeviceTables.GID_TABLE) {
            return -Errno.EINVAL;
        }
        if (index < device.addresses().count()) {
            device.addresses().writeGid(index, gid);
        } else {
            Memory.zero(gid, 16);
        }
        return 0;
    }

    @Override
    public int queryGidEx(int port, int index, long entry) {
        if (port != 1 || index < 0 || index >= DeviceTables.GID_TABLE) {
            return -Errno.EINVAL;
        }
        if (index >= device.addresses().count()) {
            return -Errno.ENODATA;
        }
        DeviceTables.gid(entry, index, device);
        return 0;
    }

    @Override
    public int queryPkey(int port, int index) {
        return port == 1 && index == 0 ? DeviceTables.PKEY : -Errno.EINVAL;
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        if (port != 1) {
            return -Errno.EINVAL;
        }
        return pkey == DeviceTables.PKEY ? 0 : -Errno.ENOENT;
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
    public int getAsyncEvent(long event, int timeoutMillis) {
        return events.await(event, timeoutMillis);
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

    static int lkeyOf(long region) {
        return Memory.getInt(region + MR_LKEY);
    }

    /** Returns the first key of a window, which finds it whatever its key is now. */
    static int handleOfWindow(long window) {
        return Memory.getInt(window + MW_HANDLE);
    }

    /** Returns the key of the last posted binding. */
    static int rkeyOfWindow(long window) {
        return Memory.getInt(window + MW_RKEY);
    }

    static void rkeyOfWindow(long window, int rkey) {
        Memory.putInt(window + MW_RKEY, rkey);
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
    public long getCompletionEvent(long address, int timeoutMillis) {
        return queues.getCompletionEvent(address, timeoutMillis);
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

    // Queue pairs.

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        return createPair(protectionDomain, initialAttributes, false);
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_qp_init_attr_ex.layout());
        int known = rdma_h.IBV_QP_INIT_ATTR_PD() | rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS();
        int mask = ibv_qp_init_attr_ex.comp_mask(init);
        boolean operations = (mask & rdma_h.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS()) != 0;
        long possible = ibv_qp_init_attr_ex.qp_type(init) == VerbsConstants.UD
                ? SoftSendVerbs.DATAGRAM_OPERATIONS
                : SoftSendVerbs.OPERATIONS;
        if ((mask & ~known) != 0 || (operations && (ibv_qp_init_attr_ex.send_ops_flags(init) & ~possible) != 0)) {
            return -Errno.EOPNOTSUPP;
        }
        return createPair(ibv_qp_init_attr_ex.pd(init).address(), initialAttributes, operations);
    }

    private long createPair(long protectionDomain, long initialAttributes, boolean operations) {
        MemorySegment init = Native.struct(initialAttributes, ibv_qp_init_attr.layout());
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        long srq = ibv_qp_init_attr.srq(init).address();
        int type = ibv_qp_init_attr.qp_type(init);
        if (type != VerbsConstants.RC && type != VerbsConstants.UC && type != VerbsConstants.UD) {
            return -Errno.EOPNOTSUPP;
        }
        if (!isPossible(cap) || (srq == 0 && ibv_qp_cap.max_recv_wr(cap) < 0)) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            SoftProtectionDomain domain = memory.domain(protectionDomain);
            SoftCompletionQueue sends = queue(ibv_qp_init_attr.send_cq(init).address());
            SoftCompletionQueue receives = queue(ibv_qp_init_attr.recv_cq(init).address());
            SoftSharedReceiveQueue shared = srq == 0 ? null : sharedReceives.shared(srq);
            SoftQueuePair pair = device.queuePairs.make(
                    ibv_qp_ex.sizeof() + Pthread.MUTEX_GROWTH,
                    (struct, number) ->
                            new SoftQueuePair(this, struct, number, domain.number, init, sends, receives, shared));
            if (pair == null) {
                return -Errno.ENOMEM;
            }
            NativeBlock block = pair.struct;
            pair.extended = operations;
            domain.users++;
            sends.users++;
            receives.users++;
            if (shared != null) {
                shared.users++;
            }
            MemorySegment qp = Native.struct(block.address(), ibv_qp.layout());
            ibv_qp.context(qp, MemorySegment.ofAddress(address()));
            ibv_qp.qp_context(qp, ibv_qp_init_attr.qp_context(init));
            ibv_qp.pd(qp, MemorySegment.ofAddress(protectionDomain));
            ibv_qp.send_cq(qp, ibv_qp_init_attr.send_cq(init));
            ibv_qp.recv_cq(qp, ibv_qp_init_attr.recv_cq(init));
            ibv_qp.srq(qp, MemorySegment.ofAddress(srq));
            ibv_qp.handle(qp, pair.number);
            ibv_qp.qp_num(qp, pair.number);
            ibv_qp.state(qp, VerbsConstants.RESET);
            ibv_qp.qp_type(qp, type);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private static boolean isPossible(MemorySegment cap) {
        return inRange(ibv_qp_cap.max_send_wr(cap), DeviceTables.MAX_WORK)
                && inRange(ibv_qp_cap.max_recv_wr(cap), DeviceTables.MAX_WORK)
                && inRange(ibv_qp_cap.max_send_sge(cap), DeviceTables.MAX_SEGMENTS)
                && inRange(ibv_qp_cap.max_recv_sge(cap), DeviceTables.MAX_SEGMENTS)
                && inRange(ibv_qp_cap.max_inline_data(cap), DeviceTables.MAX_INLINE);
    }

    private static boolean inRange(int value, int most) {
        return value >= 0 && value <= most;
    }

    SoftQueuePair queuePair(long address) {
        return device.queuePairs.get(Memory.getInt(address + QP_HANDLE));
    }

    @Override
    public long extended(long queuePair) {
        device.lock();
        try {
            return queuePair(queuePair).extended ? queuePair : 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        device.lock();
        try {
            return -queuePair(queuePair).modify(attributes, mask);
        } finally {
            device.unlock();
        }
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        device.lock();
        try {
            return -queuePair(queuePair).query(attributes, mask, initialAttributes);
        } finally {
            device.unlock();
        }
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        SoftQueuePair pair;
        device.lock();
        try {
            pair = queuePair(queuePair);
            if (device.groups.has(pair)) {
                return -Errno.EBUSY;
            }
            device.queuePairs.remove(pair.number);
            device.windows.unbindAllOf(pair);
            device.protectionDomains.get(pair.protectionDomain).users--;
            pair.sendQueue.users--;
            pair.receiveQueue.users--;
            if (pair.sharedReceives != null) {
                pair.sharedReceives.users--;
            }
            events.forget(queuePair);
            pair.free();
        } finally {
            device.unlock();
        }
        events.taken().await(queuePair);
        pair.struct.free();
        return 0;
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

    @Override
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        return 0;
    }

    @Override
    public int attachMulticast(long queuePair, long gid, int lid) {
        device.lock();
        try {
            return -device.groups.attach(queuePair(queuePair), gid);
        } finally {
            device.unlock();
        }
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        device.lock();
        try {
            return -device.groups.detach(queuePair(queuePair), gid);
        } finally {
            device.unlock();
        }
    }

    // Address handles.

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        MemorySegment attr = Native.struct(attributes, ibv_ah_attr.layout());
        device.lock();
        try {
            int refused = QueuePairFields.checkAddress(attr, device, true);
            if (refused != 0) {
                return -refused;
            }
            SoftProtectionDomain domain = memory.domain(protectionDomain);
            SoftAddressHandle made = device.addressHandles.make(
                    ibv_ah.sizeof(), (struct, number) -> device.route(struct, number, domain.number, attr));
            NativeBlock block = made.struct;
            domain.users++;
            MemorySegment handle = Native.struct(block.address(), ibv_ah.layout());
            ibv_ah.context(handle, MemorySegment.ofAddress(address()));
            ibv_ah.pd(handle, MemorySegment.ofAddress(protectionDomain));
            ibv_ah.handle(handle, made.number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    @Override
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return ReplyAddress.write(port, grh, attributes, device.addresses());
    }

    @Override
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        NativeBlock attributes = new NativeBlock(ibv_ah_attr.sizeof());
        try {
            int result = initAddressFromCompletion(port, completion, grh, attributes.address());
            return result < 0 ? result : createAddressHandle(protectionDomain, attributes.address());
        } finally {
            attributes.free();
        }
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        device.lock();
        try {
            MemorySegment handle = Native.struct(addressHandle, ibv_ah.layout());
            SoftProtectionDomain domain = memory.domain(ibv_ah.pd(handle).address());
            SoftAddressHandle address = device.addressHandles.get(device.handleOf(addressHandle));
            device.addressHandles.remove(address.number);
            domain.users--;
            address.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }
}
