package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_ah;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.ffm.verbs.ibv_async_event;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.ibv_pd;
import org.rdmapanama.ffm.verbs.ibv_qp;
import org.rdmapanama.ffm.verbs.ibv_qp_cap;
import org.rdmapanama.ffm.verbs.ibv_qp_ex;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr;
import org.rdmapanama.ffm.verbs.ibv_qp_init_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_srq;
import org.rdmapanama.ffm.verbs.ibv_srq_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr;
import org.rdmapanama.ffm.verbs.ibv_srq_init_attr_ex;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;
import org.rdmapanama.soft.wire.Memory;

/** The verbs of {@code soft0} for one who has it open. */
final class SoftContext extends ProviderContext {
    private static final long QP_HANDLE = ibv_qp.qp_num$offset();
    private static final long CQ_HANDLE = ibv_cq.handle$offset();
    private static final long SRQ_HANDLE = ibv_srq.handle$offset();
    private static final long PD_HANDLE = ibv_pd.handle$offset();
    private static final long CHANNEL_HANDLE = ibv_comp_channel.refcnt$offset();
    private static final long MR_LKEY = ibv_mr.lkey$offset();
    private static final long MW_HANDLE = ibv_mw.handle$offset();
    private static final long MW_RKEY = ibv_mw.rkey$offset();

    private static final int ALL_ACCESS = Verbs.LOCAL_WRITE
            | Verbs.REMOTE_WRITE
            | Verbs.REMOTE_READ
            | Verbs.REMOTE_ATOMIC
            | Verbs.MW_BIND
            | Verbs.ZERO_BASED
            | rdma_h.IBV_ACCESS_RELAXED_ORDERING()
            | rdma_h.IBV_ACCESS_HUGETLB();

    private final SoftDevice device;
    private final NativeBlock struct = new NativeBlock(ibv_context.sizeof() + Pthread.MUTEX_GROWTH);
    private final NativeBlock deviceStruct = new NativeBlock(ibv_device.sizeof());
    private final SendVerbs sendVerbs;
    private final CompletionVerbs completionVerbs;

    private final ReentrantLock eventLock = new ReentrantLock();
    private final Condition eventCame = eventLock.newCondition();
    private final LongRing events = new LongRing();

    SoftContext(SoftDevice device) {
        this.device = device;
        sendVerbs = new SoftSendVerbs(device);
        completionVerbs = new SoftCompletionVerbs(device);
        MemorySegment context = Native.struct(struct.address(), ibv_context.layout());
        ibv_context.device(context, MemorySegment.ofAddress(deviceStruct.address()));
        MemorySegment description = Native.struct(deviceStruct.address(), ibv_device.layout());
        ibv_device.node_type(description, rdma_h.IBV_NODE_CA());
        ibv_device.transport_type(description, rdma_h.IBV_TRANSPORT_IB());
        ibv_device.name(description).setString(0, SoftDevice.NAME);
        ibv_context.cmd_fd(context, -1);
        ibv_context.async_fd(context, -1);
        ibv_context.num_comp_vectors(context, 1);
    }

    SoftDevice device() {
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
    public SendVerbs sendVerbs() {
        return sendVerbs;
    }

    @Override
    public CompletionVerbs completionVerbs() {
        return completionVerbs;
    }

    @Override
    public int close() {
        device.close(this);
        deviceStruct.free();
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
            return -Verbs.EINVAL;
        }
        DeviceTables.port(attributes, device);
        return 0;
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        int count = device.addresses().count();
        if (capacity < count) {
            return -Verbs.EINVAL;
        }
        for (int i = 0; i < count; i++) {
            DeviceTables.gid(entries + i * ibv_gid_entry.sizeof(), i, device);
        }
        return count;
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        if (port != 1 || index < 0 || index >= DeviceTables.GID_TABLE) {
            return -Verbs.EINVAL;
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
            return -Verbs.EINVAL;
        }
        if (index >= device.addresses().count()) {
            return -Verbs.ENODATA;
        }
        DeviceTables.gid(entry, index, device);
        return 0;
    }

    @Override
    public int queryPkey(int port, int index) {
        return port == 1 && index == 0 ? DeviceTables.PKEY : -Verbs.EINVAL;
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        if (port != 1) {
            return -Verbs.EINVAL;
        }
        return pkey == DeviceTables.PKEY ? 0 : -Verbs.ENOENT;
    }

    // Asynchronous events.

    /** With any lock held: something happened to an object, or to nothing, 0. */
    void asyncEvent(int type, long object) {
        eventLock.lock();
        try {
            events.add(type);
            events.add(object);
            eventCame.signal();
        } finally {
            eventLock.unlock();
        }
    }

    @Override
    public int getAsyncEvent(long event, int timeoutMillis) {
        eventLock.lock();
        try {
            long left = timeoutMillis * 1_000_000L;
            while (events.isEmpty() && left > 0) {
                left = eventCame.awaitNanos(left);
            }
            if (events.isEmpty()) {
                return 0;
            }
            Memory.putInt(event + ibv_async_event.event_type$offset(), (int) events.remove());
            Memory.putLong(event + ibv_async_event.element$offset(), events.remove());
            return 1;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        } finally {
            eventLock.unlock();
        }
    }

    @Override
    public void ackAsyncEvent(long event) {
        // Nobody waits for that: an object that ends takes its events along.
    }

    /** Forgets the events of an object that ends. */
    private void forgetEvents(long object) {
        eventLock.lock();
        try {
            events.removePairs(object);
        } finally {
            eventLock.unlock();
        }
    }

    // Protection domains.

    @Override
    public long allocateProtectionDomain() {
        device.lock();
        try {
            NativeBlock block = new NativeBlock(ibv_pd.sizeof());
            int number = device.protectionDomains.take();
            device.protectionDomains.put(number, new SoftProtectionDomain(block, number));
            ibv_pd.context(Native.struct(block.address(), ibv_pd.layout()), MemorySegment.ofAddress(address()));
            Memory.putInt(block.address() + PD_HANDLE, number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        device.lock();
        try {
            SoftProtectionDomain domain = domain(protectionDomain);
            if (domain.users > 0) {
                return -Verbs.EBUSY;
            }
            device.protectionDomains.remove(domain.number);
            domain.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    private SoftProtectionDomain domain(long address) {
        return device.protectionDomains.get(Memory.getInt(address + PD_HANDLE));
    }

    // Memory.

    static int lkeyOf(long region) {
        return Memory.getInt(region + MR_LKEY);
    }

    /** The key that a window had first, by which it is found whatever key it has now. */
    static int handleOfWindow(long window) {
        return Memory.getInt(window + MW_HANDLE);
    }

    static void rkeyOfWindow(long window, int rkey) {
        Memory.putInt(window + MW_RKEY, rkey);
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        boolean writes = (access & (Verbs.REMOTE_WRITE | Verbs.REMOTE_ATOMIC)) != 0;
        if ((access & ~ALL_ACCESS) != 0 || (writes && (access & Verbs.LOCAL_WRITE) == 0)) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            int key = device.keys.take();
            if (key == 0) {
                return -Verbs.ENOMEM;
            }
            SoftProtectionDomain domain = domain(protectionDomain);
            NativeBlock block = new NativeBlock(ibv_mr.sizeof());
            KeyedMemory memory = new KeyedMemory(domain.number, block, false, 0);
            memory.key = key;
            memory.valid = true;
            fill(memory, address, length, iova, access);
            device.keys.put(key, memory);
            domain.users++;
            MemorySegment region = Native.struct(block.address(), ibv_mr.layout());
            ibv_mr.context(region, MemorySegment.ofAddress(address()));
            ibv_mr.pd(region, MemorySegment.ofAddress(protectionDomain));
            ibv_mr.addr(region, MemorySegment.ofAddress(address));
            ibv_mr.length(region, length);
            ibv_mr.handle(region, key);
            ibv_mr.lkey(region, key);
            ibv_mr.rkey(region, memory.allowsRemote() ? key : 0);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private static void fill(KeyedMemory memory, long address, long length, long iova, int access) {
        boolean fromZero = (access & Verbs.ZERO_BASED) != 0;
        memory.start = fromZero ? 0 : iova;
        memory.length = length;
        memory.shift = address - memory.start;
        memory.access = access;
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        device.lock();
        try {
            KeyedMemory memory = device.keys.get(lkeyOf(memoryRegion));
            if (memory.windows > 0) {
                return -Verbs.EBUSY;
            }
            device.keys.remove(memory.key);
            device.protectionDomains.get(memory.protectionDomain).users--;
            memory.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public long allocateMemoryWindow(long protectionDomain, int type) {
        if (type != Verbs.MW_TYPE_1 && type != Verbs.MW_TYPE_2) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            int key = device.keys.take();
            if (key == 0) {
                return -Verbs.ENOMEM;
            }
            SoftProtectionDomain domain = domain(protectionDomain);
            NativeBlock block = new NativeBlock(ibv_mw.sizeof());
            KeyedMemory memory = new KeyedMemory(domain.number, block, true, type);
            memory.key = key;
            device.keys.put(key, memory);
            domain.users++;
            MemorySegment window = Native.struct(block.address(), ibv_mw.layout());
            ibv_mw.context(window, MemorySegment.ofAddress(address()));
            ibv_mw.pd(window, MemorySegment.ofAddress(protectionDomain));
            ibv_mw.rkey(window, key);
            ibv_mw.handle(window, key);
            ibv_mw.type(window, type);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    @Override
    public int deallocateMemoryWindow(long memoryWindow) {
        device.lock();
        try {
            KeyedMemory memory = device.windowOf(memoryWindow);
            device.unbind(memory);
            device.keys.remove(memory.key);
            device.protectionDomains.get(memory.protectionDomain).users--;
            memory.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        device.lock();
        try {
            SoftQueuePair pair = queuePair(queuePair);
            KeyedMemory window = device.windowOf(memoryWindow);
            if (window.windowType != Verbs.MW_TYPE_1) {
                return -Verbs.EINVAL;
            }
            int result = pair.postBind(
                    window,
                    bind + ibv_mw_bind.bind_info$offset(),
                    Memory.getLong(bind + ibv_mw_bind.wr_id$offset()),
                    Memory.getInt(bind + ibv_mw_bind.send_flags$offset()));
            return -result;
        } finally {
            device.unlock();
        }
    }

    // Completion channels and queues.

    @Override
    public long createCompletionChannel() {
        device.lock();
        try {
            NativeBlock block = new NativeBlock(ibv_comp_channel.sizeof());
            int number = device.channels.take();
            device.channels.put(number, new SoftCompletionChannel(block, number));
            MemorySegment channel = Native.struct(block.address(), ibv_comp_channel.layout());
            ibv_comp_channel.context(channel, MemorySegment.ofAddress(address()));
            ibv_comp_channel.fd(channel, -1);
            // libibverbs counts its queues here; nobody else reads it.
            Memory.putInt(block.address() + CHANNEL_HANDLE, number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private SoftCompletionChannel channel(long address) {
        return device.channels.get(Memory.getInt(address + CHANNEL_HANDLE));
    }

    @Override
    public int destroyCompletionChannel(long address) {
        device.lock();
        try {
            SoftCompletionChannel channel = channel(address);
            if (channel.users > 0) {
                return -Verbs.EBUSY;
            }
            device.channels.remove(channel.number);
            channel.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public long getCompletionEvent(long address, int timeoutMillis) {
        return channel(address).await(timeoutMillis);
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return createQueue(ibv_cq.sizeof(), entries, cqContext, channel, completionVector, 0);
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        MemorySegment init = Native.struct(attributes, ibv_cq_init_attr_ex.layout());
        if ((ibv_cq_init_attr_ex.wc_flags(init) & ~SoftCompletionVerbs.FIELDS) != 0) {
            return -Verbs.EOPNOTSUPP;
        }
        return createQueue(
                ibv_cq_ex.sizeof() + Pthread.MUTEX_GROWTH,
                ibv_cq_init_attr_ex.cqe(init),
                ibv_cq_init_attr_ex.cq_context(init).address(),
                ibv_cq_init_attr_ex.channel(init).address(),
                ibv_cq_init_attr_ex.comp_vector(init),
                (int) ibv_cq_init_attr_ex.wc_flags(init));
    }

    private long createQueue(long bytes, int entries, long cqContext, long channel, int completionVector, int fields) {
        if (entries < 1 || entries > DeviceTables.MAX_COMPLETIONS || completionVector != 0) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            NativeBlock block = new NativeBlock(bytes);
            int number = device.completionQueues.take();
            SoftCompletionChannel tells = channel == 0 ? null : channel(channel);
            SoftCompletionQueue queue = new SoftCompletionQueue(this, block, number, tells, entries, fields);
            device.completionQueues.put(number, queue);
            if (tells != null) {
                tells.users++;
            }
            MemorySegment cq = Native.struct(block.address(), ibv_cq.layout());
            ibv_cq.context(cq, MemorySegment.ofAddress(address()));
            ibv_cq.channel(cq, MemorySegment.ofAddress(channel));
            ibv_cq.cq_context(cq, MemorySegment.ofAddress(cqContext));
            ibv_cq.handle(cq, number);
            ibv_cq.cqe(cq, queue.capacity());
            return block.address();
        } finally {
            device.unlock();
        }
    }

    SoftCompletionQueue queue(long address) {
        return device.completionQueues.get(Memory.getInt(address + CQ_HANDLE));
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        device.lock();
        try {
            SoftCompletionQueue queue = queue(completionQueue);
            if (queue.users > 0) {
                return -Verbs.EBUSY;
            }
            device.completionQueues.remove(queue.number);
            if (queue.channel != null) {
                queue.channel.users--;
                queue.channel.forget(completionQueue);
            }
            forgetEvents(completionQueue);
            queue.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        if (entries < 1 || entries > DeviceTables.MAX_COMPLETIONS) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            SoftCompletionQueue queue = queue(completionQueue);
            if (!queue.resize(entries)) {
                return -Verbs.EINVAL;
            }
            ibv_cq.cqe(Native.struct(completionQueue, ibv_cq.layout()), queue.capacity());
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        device.lock();
        try {
            queue(completionQueue).arm(solicitedOnly);
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        SoftCompletionQueue queue = queue(completionQueue);
        if (queue.isEmpty()) {
            device.progress();
        }
        return queue.isEmpty() ? 0 : queue.poll(capacity, completions);
    }

    // Shared receive queues.

    @Override
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_srq_init_attr.layout());
        return createShared(protectionDomain, ibv_srq_init_attr.srq_context(init), ibv_srq_init_attr.attr(init));
    }

    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        MemorySegment init = Native.struct(initialAttributes, ibv_srq_init_attr_ex.layout());
        int mask = ibv_srq_init_attr_ex.comp_mask(init);
        boolean basic = (mask & rdma_h.IBV_SRQ_INIT_ATTR_TYPE()) == 0
                || ibv_srq_init_attr_ex.srq_type(init) == rdma_h.IBV_SRQT_BASIC();
        if (!basic) {
            return -Verbs.EOPNOTSUPP;
        }
        return createShared(
                ibv_srq_init_attr_ex.pd(init).address(),
                ibv_srq_init_attr_ex.srq_context(init),
                ibv_srq_init_attr_ex.attr(init));
    }

    private long createShared(long protectionDomain, MemorySegment srqContext, MemorySegment attributes) {
        int entries = ibv_srq_attr.max_wr(attributes);
        int segments = ibv_srq_attr.max_sge(attributes);
        if (entries < 1 || entries > DeviceTables.MAX_WORK || segments < 1 || segments > DeviceTables.MAX_SEGMENTS) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            SoftProtectionDomain domain = domain(protectionDomain);
            NativeBlock block = new NativeBlock(ibv_srq.sizeof() + Pthread.MUTEX_GROWTH);
            int number = device.sharedReceives.take();
            SoftSharedReceiveQueue queue =
                    new SoftSharedReceiveQueue(this, block, number, domain.number, entries, segments);
            device.sharedReceives.put(number, queue);
            domain.users++;
            ibv_srq_attr.max_wr(attributes, queue.receives.capacity());
            MemorySegment srq = Native.struct(block.address(), ibv_srq.layout());
            ibv_srq.context(srq, MemorySegment.ofAddress(address()));
            ibv_srq.srq_context(srq, srqContext);
            ibv_srq.pd(srq, MemorySegment.ofAddress(protectionDomain));
            ibv_srq.handle(srq, number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private SoftSharedReceiveQueue shared(long address) {
        return device.sharedReceives.get(Memory.getInt(address + SRQ_HANDLE));
    }

    @Override
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        MemorySegment attr = Native.struct(attributes, ibv_srq_attr.layout());
        device.lock();
        try {
            SoftSharedReceiveQueue queue = shared(sharedReceiveQueue);
            int entries = (mask & rdma_h.IBV_SRQ_MAX_WR()) != 0 ? ibv_srq_attr.max_wr(attr) : queue.receives.capacity();
            boolean limits = (mask & rdma_h.IBV_SRQ_LIMIT()) != 0;
            if (entries < 1 || entries > DeviceTables.MAX_WORK || (limits && ibv_srq_attr.srq_limit(attr) > entries)) {
                return -Verbs.EINVAL;
            }
            if ((mask & rdma_h.IBV_SRQ_MAX_WR()) != 0 && !queue.receives.resize(entries)) {
                return -Verbs.EINVAL;
            }
            if (limits) {
                queue.limit = ibv_srq_attr.srq_limit(attr);
            }
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        device.lock();
        try {
            SoftSharedReceiveQueue queue = shared(sharedReceiveQueue);
            MemorySegment attr = Native.struct(attributes, ibv_srq_attr.layout());
            ibv_srq_attr.max_wr(attr, queue.receives.capacity());
            ibv_srq_attr.max_sge(attr, queue.receives.maxSegments);
            ibv_srq_attr.srq_limit(attr, queue.limit);
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int destroySharedReceiveQueue(long sharedReceiveQueue) {
        device.lock();
        try {
            SoftSharedReceiveQueue queue = shared(sharedReceiveQueue);
            if (queue.users > 0) {
                return -Verbs.EBUSY;
            }
            device.sharedReceives.remove(queue.number);
            device.protectionDomains.get(queue.protectionDomain).users--;
            forgetEvents(sharedReceiveQueue);
            queue.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        device.lock();
        try {
            return -shared(sharedReceiveQueue).receives.post(workRequest, bad);
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
        long possible = ibv_qp_init_attr_ex.qp_type(init) == Verbs.UD
                ? SoftSendVerbs.DATAGRAM_OPERATIONS
                : SoftSendVerbs.OPERATIONS;
        if ((mask & ~known) != 0 || (operations && (ibv_qp_init_attr_ex.send_ops_flags(init) & ~possible) != 0)) {
            return -Verbs.EOPNOTSUPP;
        }
        return createPair(ibv_qp_init_attr_ex.pd(init).address(), initialAttributes, operations);
    }

    private long createPair(long protectionDomain, long initialAttributes, boolean operations) {
        MemorySegment init = Native.struct(initialAttributes, ibv_qp_init_attr.layout());
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        long srq = ibv_qp_init_attr.srq(init).address();
        int type = ibv_qp_init_attr.qp_type(init);
        if (type != Verbs.RC && type != Verbs.UC && type != Verbs.UD) {
            return -Verbs.EOPNOTSUPP;
        }
        if (!isPossible(cap) || (srq == 0 && ibv_qp_cap.max_recv_wr(cap) < 0)) {
            return -Verbs.EINVAL;
        }
        device.lock();
        try {
            int number = device.queuePairs.take();
            if (number == 0) {
                return -Verbs.ENOMEM;
            }
            SoftProtectionDomain domain = domain(protectionDomain);
            SoftCompletionQueue sends = queue(ibv_qp_init_attr.send_cq(init).address());
            SoftCompletionQueue receives = queue(ibv_qp_init_attr.recv_cq(init).address());
            NativeBlock block = new NativeBlock(ibv_qp_ex.sizeof() + Pthread.MUTEX_GROWTH);
            SoftSharedReceiveQueue shared = srq == 0 ? null : shared(srq);
            SoftQueuePair pair = new SoftQueuePair(this, block, number, domain.number, init, sends, receives, shared);
            pair.extended = operations;
            device.queuePairs.put(number, pair);
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
            ibv_qp.handle(qp, number);
            ibv_qp.qp_num(qp, number);
            ibv_qp.state(qp, Verbs.RESET);
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

    private SoftQueuePair queuePair(long address) {
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
        device.lock();
        try {
            SoftQueuePair pair = queuePair(queuePair);
            if (device.isMember(pair)) {
                return -Verbs.EBUSY;
            }
            device.queuePairs.remove(pair.number);
            device.unbindAllOf(pair);
            device.protectionDomains.get(pair.protectionDomain).users--;
            pair.sendQueue.users--;
            pair.receiveQueue.users--;
            if (pair.sharedReceives != null) {
                pair.sharedReceives.users--;
            }
            forgetEvents(queuePair);
            pair.free();
            return 0;
        } finally {
            device.unlock();
        }
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
            return -device.attach(queuePair(queuePair), gid);
        } finally {
            device.unlock();
        }
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        device.lock();
        try {
            return -device.detach(queuePair(queuePair), gid);
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
            SoftProtectionDomain domain = domain(protectionDomain);
            NativeBlock block = new NativeBlock(ibv_ah.sizeof());
            int number = device.addressHandles.take();
            device.addressHandles.put(number, device.route(block, number, domain.number, attr));
            domain.users++;
            MemorySegment handle = Native.struct(block.address(), ibv_ah.layout());
            ibv_ah.context(handle, MemorySegment.ofAddress(address()));
            ibv_ah.pd(handle, MemorySegment.ofAddress(protectionDomain));
            ibv_ah.handle(handle, number);
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
            SoftProtectionDomain domain = domain(ibv_ah.pd(handle).address());
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
