package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.internal.provider.ProviderContext;

/** The verbs of one device that libibverbs opened. */
final class NativeContext extends ProviderContext {
    /**
     * Drivers whose post and poll functions only touch memory and doorbells, as their sources from version 44 to 64
     * show: they may run as critical calls, which skip the thread's state transition and hold off safepoints. All
     * others are called the ordinary way. Some of those enter the kernel on each post (Soft-RoCE, software iWARP) and
     * some after an error (hns, irdma, cxgb4); bnxt_re may wait for its doorbell.
     */
    private static final Set<String> POSTS_WITHOUT_KERNEL = Set.of("efa", "erdma", "mlx4", "mlx5");

    /** The software drivers poll a queue that they share with the kernel: memory only. */
    private static final Set<String> ALSO_POLLS_WITHOUT_KERNEL = Set.of("rxe", "siw");

    private static final ValueLayout.OfShort NETWORK_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private static final Pattern DRIVER_FILE = Pattern.compile("lib(\\w+)-rdmav\\d+\\.so$");

    private final long context;
    private final String driver;
    private final MemorySegment postSend;
    private final MemorySegment postRecv;
    private final MemorySegment pollCq;
    private final MemorySegment reqNotifyCq;
    private final boolean criticalPost;
    private final boolean criticalPoll;
    private final int asyncFd;

    NativeContext(long context) {
        this.context = context;
        postSend = InlineVerbs.postSendOf(context);
        postRecv = InlineVerbs.postRecvOf(context);
        pollCq = InlineVerbs.pollCqOf(context);
        reqNotifyCq = InlineVerbs.reqNotifyCqOf(context);
        driver = driverOf(postSend);
        criticalPost = POSTS_WITHOUT_KERNEL.contains(driver);
        criticalPoll = criticalPost || ALSO_POLLS_WITHOUT_KERNEL.contains(driver);
        asyncFd = ibv_context.async_fd(Structs.at(context, ibv_context.layout()));
        // Reading an event after poll(2) must never wait: another reader may have been faster.
        Libc.setNonBlocking(asyncFd);
    }

    /** The provider library that a function lies in tells the driver: {@code libmlx5-rdmav34.so} is mlx5. */
    private static String driverOf(MemorySegment function) {
        Path file = NativeLibrary.fileOf(function);
        if (file == null) {
            return "unknown";
        }
        String name = file.getFileName().toString();
        Matcher matcher = DRIVER_FILE.matcher(name);
        if (matcher.find()) {
            return matcher.group(1);
        }
        // mlx4, mlx5, efa, hns and mana also have a public library: libmlx5.so.1.24.44.0.
        Matcher library = Pattern.compile("^lib(\\w+)\\.so\\.").matcher(name);
        return library.find() ? library.group(1) : "unknown";
    }

    @Override
    public long address() {
        return context;
    }

    @Override
    public String driver() {
        return driver;
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
    public int getAsyncEvent(long event, int timeoutMillis) {
        int ready = Libc.awaitReadable(asyncFd, timeoutMillis);
        if (ready <= 0) {
            return ready;
        }
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
            Libc.setNonBlocking(fdOf(channel));
        }
        return channel;
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return Libibverbs.destroyCompChannel(channel);
    }

    @Override
    public long getCompletionEvent(long channel, int timeoutMillis) {
        int ready = Libc.awaitReadable(fdOf(channel), timeoutMillis);
        if (ready <= 0) {
            return ready;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment queueAndContext = arena.allocate(JAVA_LONG, 2);
            int result = Libibverbs.getCqEvent(
                    channel, queueAndContext.address(), queueAndContext.address() + JAVA_LONG.byteSize());
            if (result == -Errno.EAGAIN) {
                return 0;
            }
            if (result < 0) {
                return result;
            }
            Libibverbs.ackCqEvents(queueAndContext.getAtIndex(JAVA_LONG, 0), 1);
            return queueAndContext.getAtIndex(JAVA_LONG, 1);
        }
    }

    private static int fdOf(long channel) {
        return ibv_comp_channel.fd(Structs.at(channel, ibv_comp_channel.layout()));
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
        // Drivers return -1 or -2 here, which are no errno values.
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
        return Libibverbs.createAh(protectionDomain, attributes);
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        return Libibverbs.destroyAh(addressHandle);
    }
}
