package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.SortedMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rdmapanama.counts.KernelCounters;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Libc;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.internal.Scratch;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_gid_entry;
import org.rdmapanama.ffm.verbs.ibv_wq;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.AddressHandles;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;

/** The verbs of one device that libibverbs opened. */
final class NativeContext extends ProviderContext {
    private static final KernelCounters COUNTERS = KernelCounters.ofThisMachine();

    /** The name of a driver that cannot be determined. */
    private static final String UNKNOWN = "unknown";

    /**
     * Drivers whose post and poll functions only access memory and doorbells, according to their sources from version
     * 44 to 64. They may run as critical calls, which skip the thread's state transition and hold off safepoints. All
     * others are called in the ordinary way. Some of those enter the kernel on each post (Soft-RoCE, software iWARP)
     * and some after an error (hns, irdma, cxgb4); bnxt_re may wait for its doorbell. The system property {@code
     * org.rdmapanama.driversWithoutKernel} names more, separated by commas.
     */
    private static final Set<String> POSTS_WITHOUT_KERNEL =
            knownAnd("org.rdmapanama.driversWithoutKernel", "efa", "erdma", "mlx4", "mlx5");

    /** The software drivers poll a queue that they share with the kernel, which only accesses memory. */
    private static final Set<String> ALSO_POLLS_WITHOUT_KERNEL = Set.of("rxe", "siw");

    /**
     * Drivers in which polling takes no lock that a batch of sends may hold. The system property {@code
     * org.rdmapanama.driversPollingBesideBatches} names more, separated by commas.
     */
    private static final Set<String> POLLS_BESIDE_BATCHES =
            knownAnd("org.rdmapanama.driversPollingBesideBatches", "erdma", "mlx4", "mlx5", "rxe", "siw");

    /** Drivers with a direct path, which is in a module that is named after the driver. */
    private static final Set<String> DIRECT = Set.of("efa", "mlx5");

    /** Drivers in which a batch of a single-threaded completion queue holds no lock. */
    private static final Set<String> BATCHES_WITHOUT_LOCK = Set.of("mlx4", "mlx5");

    private static final int DATA_IN_ORDER_FLAGS_SINCE = 46;

    private static final ValueLayout.OfShort NETWORK_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private static final Pattern DRIVER_FILE = Pattern.compile("lib(\\w+)-rdmav\\d+\\.so$");

    private static final FunctionPointer WORK_QUEUE_POST_RECV = new FunctionPointer(ibv_wq.post_recv$offset());

    private static final SendVerbs SEND_VERBS = new NativeSendVerbs();
    private static final SendVerbs SEND_VERBS_OF_RXE = new RxeSendVerbs(libraryVersion());

    private final long context;
    private final String driver;
    private final CompletionVerbs completionVerbs;
    private final MemorySegment postSend;
    private final MemorySegment postRecv;
    private final MemorySegment postSrqRecv;

    /** Null where there is none. */
    private final MemorySegment postSrqOps;

    private final MemorySegment pollCq;
    private final MemorySegment reqNotifyCq;

    /** Until {@link #preparePollBatches}; visible to all threads before one can open a batch. */
    private volatile boolean criticalPost;

    /** Until {@link #prepareSendBatches}, with some drivers; visible to all threads before one can start a batch. */
    private volatile boolean criticalPoll;

    /** Null until it is asked for. */
    private DirectPath directPath;

    private final int asyncFd;
    private final SendVerbs sendVerbs;

    NativeContext(long context) {
        this(context, driverOf(InlineVerbs.postSendOf(context)));
    }

    NativeContext(long context, String driver) {
        this.context = context;
        this.driver = driver;
        postSend = InlineVerbs.postSendOf(context);
        postRecv = InlineVerbs.postRecvOf(context);
        postSrqRecv = InlineVerbs.postSrqRecvOf(context);
        postSrqOps = InlineVerbs.postSrqOpsOf(context);
        pollCq = InlineVerbs.pollCqOf(context);
        reqNotifyCq = InlineVerbs.reqNotifyCqOf(context);
        completionVerbs = NativeCompletionVerbs.of(driver, NativeLibrary.IBVERBS.version());
        criticalPost = POSTS_WITHOUT_KERNEL.contains(driver);
        criticalPoll = criticalPost || ALSO_POLLS_WITHOUT_KERNEL.contains(driver);
        if (driver.equals("rxe")) {
            sendVerbs = SEND_VERBS_OF_RXE;
        } else {
            sendVerbs = criticalPost ? new CriticalSendVerbs(this) : SEND_VERBS;
        }
        asyncFd = ibv_context.async_fd(Structs.at(context, ibv_context.layout()));
        // Looking for an event must never block.
        Libc.setNonBlocking(asyncFd);
    }

    /** Returns the known drivers and those that a system property names. */
    private static Set<String> knownAnd(String property, String... known) {
        return Stream.concat(
                        Stream.of(known),
                        Stream.of(System.getProperty(property, "").split(","))
                                .map(String::strip)
                                .filter(name -> !name.equals(UNKNOWN)))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Returns the driver, derived from the provider library of a function: {@code libmlx5-rdmav34.so} is mlx5. */
    private static String driverOf(MemorySegment function) {
        Path file = NativeLibrary.fileOf(function);
        if (file == null) {
            return UNKNOWN;
        }
        String name = file.getFileName().toString();
        Matcher matcher = DRIVER_FILE.matcher(name);
        if (matcher.find()) {
            return matcher.group(1);
        }
        // mlx4, mlx5, efa, hns and mana also have a public library: libmlx5.so.1.24.44.0.
        Matcher library = Pattern.compile("^lib(\\w+)\\.so\\.").matcher(name);
        return library.find() ? library.group(1) : UNKNOWN;
    }

    /** Returns the version of rdma-core, or the oldest supported one if it cannot be determined. */
    private static int libraryVersion() {
        return NativeLibrary.IBVERBS.version().map(Integer::parseInt).orElse(44);
    }

    @Override
    public long address() {
        return context;
    }

    @Override
    public String cure(int errno) {
        return null;
    }

    @Override
    public SortedMap<String, Long> portCounters(String deviceName, int port) {
        List<Integer> ports = COUNTERS.ports(deviceName);
        return ports.isEmpty() || ports.contains(port) ? COUNTERS.read(deviceName, port) : null;
    }

    @Override
    public String driver() {
        return driver;
    }

    /** efa writes a descriptor for each segment, and nothing for a receive that has none. */
    @Override
    public boolean completesEmptyReceives() {
        return !driver.equals("efa");
    }

    @Override
    public synchronized DirectPath directPath() {
        if (!DIRECT.contains(driver)) {
            return super.directPath();
        }
        if (directPath == null) {
            // Use the class loader of this module, whatever the context class loader of the calling thread is.
            directPath = ServiceLoader.load(DirectPath.Finder.class, DirectPath.Finder.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .filter(finder -> finder.driver().equals(driver))
                    .findFirst()
                    .orElseThrow(() -> new UnsupportedOperationException("the direct path of " + driver
                            + " is in another module: add rdma-" + driver + " to the class path or module path"))
                    .open(this);
        }
        return directPath;
    }

    @Override
    public SendVerbs prepareSendBatches() {
        // From the start of a batch to its end efa holds a lock that polling takes as well. Unknown for drivers that
        // were named by the system property only.
        if (!POLLS_BESIDE_BATCHES.contains(driver)) {
            pollOrdinarily();
        }
        return sendVerbs;
    }

    @Override
    public CompletionVerbs preparePollBatches(boolean singleThreaded) {
        // From the start of a batch to its end a driver may hold a lock, which posting to a full queue takes as well.
        if (!singleThreaded || !BATCHES_WITHOUT_LOCK.contains(driver)) {
            postOrdinarily();
        }
        return completionVerbs;
    }

    /**
     * Switches critical calls off for polling, for good. A critical call that waited for the lock of a batch would hold
     * off the safepoint at which the thread of the batch may be waiting.
     */
    private void pollOrdinarily() {
        criticalPoll = false;
    }

    /** Like {@link #pollOrdinarily}, for posting. */
    private void postOrdinarily() {
        criticalPost = false;
    }

    boolean postsCritically() {
        return criticalPost;
    }

    @Override
    public int close() {
        return Libibverbs.closeDevice(context);
    }

    @Override
    public int queryDevice(long attributes) {
        return InlineVerbs.queryDeviceEx(context, attributes);
    }

    @Override
    public int queryPort(int port, long attributes) {
        return InlineVerbs.queryPort(context, port, attributes);
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        return (int) InlineVerbs.queryGidTable(context, entries, capacity);
    }

    @Override
    public int queryPkey(int port, int index) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pkey = arena.allocate(JAVA_SHORT);
            int result = Libibverbs.queryPkey(context, (byte) port, index, pkey.address());
            return result < 0 ? result : Short.toUnsignedInt(pkey.get(NETWORK_SHORT, 0));
        }
    }

    @Override
    public ReadySource asyncEvents() {
        return ReadySource.ofDescriptor(asyncFd);
    }

    @Override
    public int getAsyncEvent(long event) {
        int result = Libibverbs.getAsyncEvent(context, event);
        if (result == -Errno.EAGAIN) {
            return 0;
        }
        return result < 0 ? result : 1;
    }

    @Override
    public void ackAsyncEvent(long event) {
        Libibverbs.ackAsyncEvent(event);
    }

    @Override
    public long allocateProtectionDomain() {
        return Libibverbs.allocPd(context);
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        return Libibverbs.deallocPd(protectionDomain);
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        return InlineVerbs.regMr(protectionDomain, address, length, iova, access);
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        return Libibverbs.deregMr(memoryRegion);
    }

    @Override
    public long createCompletionChannel() {
        long channel = Libibverbs.createCompChannel(context);
        if (channel > 0) {
            adoptCompletionChannel(channel);
        }
        return channel;
    }

    @Override
    public int adoptCompletionChannel(long channel) {
        // Looking for an event must never block.
        return Libc.setNonBlocking(fdOf(channel));
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return Libibverbs.destroyCompChannel(channel);
    }

    @Override
    public ReadySource completionEvents(long channel) {
        return ReadySource.ofDescriptor(fdOf(channel));
    }

    @Override
    public long getCompletionEvent(long channel) {
        try (Scratch scratch = Scratch.take()) {
            long queue = Libibverbs.getCqEvent(channel, scratch);
            if (queue != 0 || Libc.awaitReadable(fdOf(channel), 0) == 0) {
                return queue;
            }
            // There is an event, or the call fails.
            return Libibverbs.getCqEventWithErrno(channel, scratch);
        }
    }

    @Override
    public void ackCompletionEvent(long channel, long completionQueue) {
        Libibverbs.ackCqEvents(completionQueue, 1);
    }

    private static int fdOf(long channel) {
        // Without a view of the structure, which would be garbage for each look for an event.
        return Native.getInt(channel + ibv_comp_channel.fd$offset());
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return Libibverbs.createCq(context, entries, cqContext, channel, completionVector);
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        return Libibverbs.destroyCq(completionQueue);
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        return Errno.status(InlineVerbs.reqNotifyCq(reqNotifyCq, completionQueue, solicitedOnly ? 1 : 0));
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        int count = criticalPoll
                ? InlineVerbs.pollCqCritical(pollCq, completionQueue, capacity, completions)
                : InlineVerbs.pollCq(pollCq, completionQueue, capacity, completions);
        // Drivers return -1 or -2 here, which are not errno values.
        return count >= 0 ? count : -Errno.EIO;
    }

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        return Libibverbs.createQp(protectionDomain, initialAttributes);
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        return Libibverbs.modifyQp(queuePair, attributes, mask);
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        return Libibverbs.queryQp(queuePair, attributes, mask, initialAttributes);
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        return Libibverbs.destroyQp(queuePair);
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        int result = criticalPost
                ? InlineVerbs.postCritical(postSend, queuePair, workRequest, bad)
                : InlineVerbs.post(postSend, queuePair, workRequest, bad);
        return result == 0 ? 0 : Errno.status(result);
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        int result = criticalPost
                ? InlineVerbs.postCritical(postRecv, queuePair, workRequest, bad)
                : InlineVerbs.post(postRecv, queuePair, workRequest, bad);
        return result == 0 ? 0 : Errno.status(result);
    }

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        long handle = Libibverbs.createAh(protectionDomain, attributes);
        AddressHandles.noteNew();
        return handle;
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        return Libibverbs.destroyAh(addressHandle);
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        return Libibverbs.queryGid(context, (byte) port, index, gid);
    }

    @Override
    public int queryGidEx(int port, int index, long entry) {
        return Libibverbs.queryGidEx(context, port, index, entry, 0, ibv_gid_entry.sizeof());
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return Libibverbs.getPkeyIndex(context, (byte) port, toNetworkOrder((short) pkey));
    }

    @Override
    public int queryRealTime(long values) {
        return ContextOp.QUERY_RT_VALUES.status(context, context, values);
    }

    @Override
    public int resolveEthernetAddress(long attributes, long mac, long vlan) {
        return Libibverbs.resolveEthL2FromGid(context, attributes, mac, vlan);
    }

    @Override
    public long importProtectionDomain(int handle) {
        return Libibverbs.importPd(context, handle);
    }

    @Override
    public void unimportProtectionDomain(long protectionDomain) {
        Libibverbs.unimportPd(protectionDomain);
    }

    @Override
    public long importMemoryRegion(long protectionDomain, int handle) {
        return Libibverbs.importMr(protectionDomain, handle);
    }

    @Override
    public void unimportMemoryRegion(long memoryRegion) {
        Libibverbs.unimportMr(memoryRegion);
    }

    @Override
    public long importDeviceMemory(int handle) {
        return Libibverbs.importDm(context, handle);
    }

    @Override
    public void unimportDeviceMemory(long deviceMemory) {
        Libibverbs.unimportDm(deviceMemory);
    }

    @Override
    public long allocateThreadDomain(long attributes) {
        return ContextOp.ALLOC_TD.pointer(context, context, attributes);
    }

    @Override
    public int deallocateThreadDomain(long threadDomain) {
        return ContextOp.DEALLOC_TD.status(context, threadDomain);
    }

    @Override
    public long allocateParentDomain(long attributes) {
        return ContextOp.ALLOC_PARENT_DOMAIN.pointer(context, context, attributes);
    }

    @Override
    public long openXrcDomain(long attributes) {
        return ContextOp.OPEN_XRCD.pointer(context, context, attributes);
    }

    @Override
    public int closeXrcDomain(long xrcDomain) {
        return ContextOp.CLOSE_XRCD.status(context, xrcDomain);
    }

    @Override
    public int reregisterMemory(
            long memoryRegion, int flags, long protectionDomain, long address, long length, int access, long code) {
        return Libibverbs.reregMr(memoryRegion, flags, protectionDomain, address, length, access, code);
    }

    @Override
    public long registerDmaBuffer(long protectionDomain, long offset, long length, long iova, int fd, int access) {
        return Libibverbs.regDmabufMr(protectionDomain, offset, length, iova, fd, access);
    }

    @Override
    public long allocateNullRegion(long protectionDomain) {
        return ContextOp.ALLOC_NULL_MR.pointer(context, protectionDomain);
    }

    @Override
    public int advise(long protectionDomain, int advice, int flags, long list, int count) {
        return InlineVerbs.adviseMr(context, protectionDomain, advice, flags, list, count);
    }

    @Override
    public long allocateDeviceMemory(long attributes) {
        return ContextOp.ALLOC_DM.pointer(context, context, attributes);
    }

    @Override
    public int freeDeviceMemory(long deviceMemory) {
        return ContextOp.FREE_DM.status(context, deviceMemory);
    }

    @Override
    public int copyToDeviceMemory(long deviceMemory, long offset, long host, long length) {
        return InlineVerbs.memcpyToDm(deviceMemory, offset, host, length);
    }

    @Override
    public int copyFromDeviceMemory(long host, long deviceMemory, long offset, long length) {
        return InlineVerbs.memcpyFromDm(host, deviceMemory, offset, length);
    }

    @Override
    public long registerDeviceMemory(long protectionDomain, long deviceMemory, long offset, long length, int access) {
        return InlineVerbs.regDmMr(context, protectionDomain, deviceMemory, offset, length, access);
    }

    @Override
    public long allocateMemoryWindow(long protectionDomain, int type) {
        return InlineVerbs.allocMw(context, protectionDomain, type);
    }

    @Override
    public int deallocateMemoryWindow(long memoryWindow) {
        return InlineVerbs.deallocMw(context, memoryWindow);
    }

    @Override
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        return InlineVerbs.bindMw(context, queuePair, memoryWindow, bind);
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        return ContextOp.CREATE_CQ_EX.pointer(context, context, attributes);
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        return Libibverbs.resizeCq(completionQueue, entries);
    }

    @Override
    public int modifyCompletionQueue(long completionQueue, long attributes) {
        return ContextOp.MODIFY_CQ.status(context, completionQueue, attributes);
    }

    @Override
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        return Libibverbs.createSrq(protectionDomain, initialAttributes);
    }

    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        return InlineVerbs.createSrqEx(context, initialAttributes);
    }

    @Override
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        return Libibverbs.modifySrq(sharedReceiveQueue, attributes, mask);
    }

    @Override
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        return Libibverbs.querySrq(sharedReceiveQueue, attributes);
    }

    @Override
    public int sharedReceiveQueueNumber(long sharedReceiveQueue, long number) {
        return ContextOp.GET_SRQ_NUM.status(context, sharedReceiveQueue, number);
    }

    @Override
    public int destroySharedReceiveQueue(long sharedReceiveQueue) {
        return Libibverbs.destroySrq(sharedReceiveQueue);
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        int result = criticalPost
                ? InlineVerbs.postCritical(postSrqRecv, sharedReceiveQueue, workRequest, bad)
                : InlineVerbs.post(postSrqRecv, sharedReceiveQueue, workRequest, bad);
        return result == 0 ? 0 : Errno.status(result);
    }

    @Override
    public int postSharedOperations(long sharedReceiveQueue, long operation, long bad) {
        return postSrqOps == null
                ? -Errno.EOPNOTSUPP
                : Errno.status(InlineVerbs.post(postSrqOps, sharedReceiveQueue, operation, bad));
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        return InlineVerbs.createQpEx(context, initialAttributes);
    }

    @Override
    public long openQueuePair(long attributes) {
        return ContextOp.OPEN_QP.pointer(context, context, attributes);
    }

    @Override
    public long extended(long queuePair) {
        return Libibverbs.qpToQpEx(queuePair);
    }

    @Override
    public int modifyRateLimit(long queuePair, long attributes) {
        return ContextOp.MODIFY_QP_RATE_LIMIT.status(context, queuePair, attributes);
    }

    @Override
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        if (flags == 0 || libraryVersion() >= DATA_IN_ORDER_FLAGS_SINCE) {
            return Libibverbs.queryQpDataInOrder(queuePair, opcode, flags);
        }
        // Older drivers must refuse flags. Data that is in order as a whole is also in order in blocks.
        int wholeMessage = Libibverbs.queryQpDataInOrder(queuePair, opcode, 0);
        return wholeMessage <= 0
                ? wholeMessage
                : rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG() | rdma_h.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES();
    }

    @Override
    public int setEce(long queuePair, long ece) {
        return Libibverbs.setEce(queuePair, ece);
    }

    @Override
    public int queryEce(long queuePair, long ece) {
        return Libibverbs.queryEce(queuePair, ece);
    }

    @Override
    public int attachMulticast(long queuePair, long gid, int lid) {
        return Libibverbs.attachMcast(queuePair, gid, (short) lid);
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        return Libibverbs.detachMcast(queuePair, gid, (short) lid);
    }

    @Override
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return Libibverbs.initAhFromWc(context, (byte) port, completion, grh, attributes);
    }

    @Override
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        long handle = Libibverbs.createAhFromWc(protectionDomain, completion, grh, (byte) port);
        AddressHandles.noteNew();
        return handle;
    }

    @Override
    public long createWorkQueue(long initialAttributes) {
        return InlineVerbs.createWq(context, initialAttributes);
    }

    @Override
    public int modifyWorkQueue(long workQueue, long attributes) {
        return ContextOp.MODIFY_WQ.status(context, workQueue, attributes);
    }

    @Override
    public int destroyWorkQueue(long workQueue) {
        return ContextOp.DESTROY_WQ.status(context, workQueue);
    }

    @Override
    public int postWorkQueueReceive(long workQueue, long workRequest, long bad) {
        return WORK_QUEUE_POST_RECV.isNull(workQueue)
                ? -Errno.EOPNOTSUPP
                : Errno.status(InlineVerbs.post(WORK_QUEUE_POST_RECV.in(workQueue), workQueue, workRequest, bad));
    }

    @Override
    public long createIndirectionTable(long initialAttributes) {
        return ContextOp.CREATE_RWQ_IND_TABLE.pointer(context, context, initialAttributes);
    }

    @Override
    public int destroyIndirectionTable(long table) {
        return ContextOp.DESTROY_RWQ_IND_TABLE.status(context, table);
    }

    @Override
    public long createFlow(long queuePair, long attributes) {
        return ContextOp.IBV_CREATE_FLOW.pointer(context, queuePair, attributes);
    }

    @Override
    public int destroyFlow(long flow) {
        return ContextOp.IBV_DESTROY_FLOW.status(context, flow);
    }

    @Override
    public long createFlowActionEsp(long attributes) {
        return ContextOp.CREATE_FLOW_ACTION_ESP.pointer(context, context, attributes);
    }

    @Override
    public int modifyFlowActionEsp(long action, long attributes) {
        return ContextOp.MODIFY_FLOW_ACTION_ESP.status(context, action, attributes);
    }

    @Override
    public int destroyFlowAction(long action) {
        return ContextOp.DESTROY_FLOW_ACTION.status(context, action);
    }

    @Override
    public long createCounters(long attributes) {
        return ContextOp.CREATE_COUNTERS.pointer(context, context, attributes);
    }

    @Override
    public int destroyCounters(long counters) {
        return ContextOp.DESTROY_COUNTERS.status(context, counters);
    }

    @Override
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        return ContextOp.ATTACH_COUNTERS_POINT_FLOW.status(context, counters, attributes, flow);
    }

    @Override
    public int readCounters(long counters, long values, int count, int flags) {
        return InlineVerbs.readCounters(context, counters, values, count, flags);
    }

    private static short toNetworkOrder(short value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Short.reverseBytes(value);
    }
}
