package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.provider.ProviderContext;

/** A device of which the n-th call fails, whichever it is. Calls that end something do not count. */
final class FailingProvider extends RecordingProvider {
    /** {@code IBV_REREG_MR_ERR_INPUT}. */
    private static final int INPUT_IS_WRONG = rdma_h.IBV_REREG_MR_ERR_INPUT();

    private final List<String> methods = new ArrayList<>();
    private int failing;
    private int failure;

    FailingProvider(ProviderContext real) {
        super(real);
    }

    /** From now on calls count, and the n-th one fails, counted from 1; none when n is 0. */
    void failAt(int n, Errno errno) {
        methods.clear();
        failing = n;
        failure = -errno.number;
    }

    /** The methods that were called since, the one that failed among them. */
    List<String> methods() {
        return List.copyOf(methods);
    }

    /** The region stays as it was. */
    @Override
    @SuppressWarnings("restricted")
    public int reregisterMemory(
            long memoryRegion, int flags, long protectionDomain, long address, long length, int access, long code) {
        if (fails("reregisterMemory")) {
            MemorySegment.ofAddress(code).reinterpret(Integer.BYTES).set(JAVA_INT, 0, INPUT_IS_WRONG);
            return failure;
        }
        return super.reregisterMemory(memoryRegion, flags, protectionDomain, address, length, access, code);
    }

    private boolean fails(String method) {
        methods.add(method);
        return methods.size() == failing;
    }

    @Override
    public int queryDevice(long attributes) {
        return fails("queryDevice") ? failure : super.queryDevice(attributes);
    }

    @Override
    public int queryPort(int port, long attributes) {
        return fails("queryPort") ? failure : super.queryPort(port, attributes);
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        return fails("queryGidTable") ? failure : super.queryGidTable(entries, capacity);
    }

    @Override
    public int queryPkey(int port, int index) {
        return fails("queryPkey") ? failure : super.queryPkey(port, index);
    }

    @Override
    public int getAsyncEvent(long event, int timeoutMillis) {
        return fails("getAsyncEvent") ? failure : super.getAsyncEvent(event, timeoutMillis);
    }

    @Override
    public long allocateProtectionDomain() {
        return fails("allocateProtectionDomain") ? failure : super.allocateProtectionDomain();
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        return fails("registerMemory")
                ? failure
                : super.registerMemory(protectionDomain, address, length, iova, access);
    }

    @Override
    public long createCompletionChannel() {
        return fails("createCompletionChannel") ? failure : super.createCompletionChannel();
    }

    @Override
    public int adoptCompletionChannel(long channel) {
        return fails("adoptCompletionChannel") ? failure : super.adoptCompletionChannel(channel);
    }

    @Override
    public long getCompletionEvent(long channel, int timeoutMillis) {
        return fails("getCompletionEvent") ? failure : super.getCompletionEvent(channel, timeoutMillis);
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return fails("createCompletionQueue")
                ? failure
                : super.createCompletionQueue(entries, cqContext, channel, completionVector);
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        return fails("requestNotification") ? failure : super.requestNotification(completionQueue, solicitedOnly);
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        return fails("pollCompletionQueue")
                ? failure
                : super.pollCompletionQueue(completionQueue, capacity, completions);
    }

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        return fails("createQueuePair") ? failure : super.createQueuePair(protectionDomain, initialAttributes);
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        return fails("modifyQueuePair") ? failure : super.modifyQueuePair(queuePair, attributes, mask);
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        return fails("queryQueuePair") ? failure : super.queryQueuePair(queuePair, attributes, mask, initialAttributes);
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        return fails("postSend") ? failure : super.postSend(queuePair, workRequest, bad);
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        return fails("postReceive") ? failure : super.postReceive(queuePair, workRequest, bad);
    }

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        return fails("createAddressHandle") ? failure : super.createAddressHandle(protectionDomain, attributes);
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        return fails("queryGid") ? failure : super.queryGid(port, index, gid);
    }

    @Override
    public int queryGidEx(int port, int index, long entry) {
        return fails("queryGidEx") ? failure : super.queryGidEx(port, index, entry);
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return fails("pkeyIndex") ? failure : super.pkeyIndex(port, pkey);
    }

    @Override
    public int queryRealTime(long values) {
        return fails("queryRealTime") ? failure : super.queryRealTime(values);
    }

    @Override
    public int resolveEthernetAddress(long attributes, long mac, long vlan) {
        return fails("resolveEthernetAddress") ? failure : super.resolveEthernetAddress(attributes, mac, vlan);
    }

    @Override
    public long importProtectionDomain(int handle) {
        return fails("importProtectionDomain") ? failure : super.importProtectionDomain(handle);
    }

    @Override
    public long importMemoryRegion(long protectionDomain, int handle) {
        return fails("importMemoryRegion") ? failure : super.importMemoryRegion(protectionDomain, handle);
    }

    @Override
    public long importDeviceMemory(int handle) {
        return fails("importDeviceMemory") ? failure : super.importDeviceMemory(handle);
    }

    @Override
    public long allocateThreadDomain(long attributes) {
        return fails("allocateThreadDomain") ? failure : super.allocateThreadDomain(attributes);
    }

    @Override
    public long allocateParentDomain(long attributes) {
        return fails("allocateParentDomain") ? failure : super.allocateParentDomain(attributes);
    }

    @Override
    public long openXrcDomain(long attributes) {
        return fails("openXrcDomain") ? failure : super.openXrcDomain(attributes);
    }

    @Override
    public long registerDmaBuffer(long protectionDomain, long offset, long length, long iova, int fd, int access) {
        return fails("registerDmaBuffer")
                ? failure
                : super.registerDmaBuffer(protectionDomain, offset, length, iova, fd, access);
    }

    @Override
    public long allocateNullRegion(long protectionDomain) {
        return fails("allocateNullRegion") ? failure : super.allocateNullRegion(protectionDomain);
    }

    @Override
    public int advise(long protectionDomain, int advice, int flags, long list, int count) {
        return fails("advise") ? failure : super.advise(protectionDomain, advice, flags, list, count);
    }

    @Override
    public long allocateDeviceMemory(long attributes) {
        return fails("allocateDeviceMemory") ? failure : super.allocateDeviceMemory(attributes);
    }

    @Override
    public int copyToDeviceMemory(long deviceMemory, long offset, long host, long length) {
        return fails("copyToDeviceMemory") ? failure : super.copyToDeviceMemory(deviceMemory, offset, host, length);
    }

    @Override
    public int copyFromDeviceMemory(long host, long deviceMemory, long offset, long length) {
        return fails("copyFromDeviceMemory") ? failure : super.copyFromDeviceMemory(host, deviceMemory, offset, length);
    }

    @Override
    public long registerDeviceMemory(long protectionDomain, long deviceMemory, long offset, long length, int access) {
        return fails("registerDeviceMemory")
                ? failure
                : super.registerDeviceMemory(protectionDomain, deviceMemory, offset, length, access);
    }

    @Override
    public long allocateMemoryWindow(long protectionDomain, int type) {
        return fails("allocateMemoryWindow") ? failure : super.allocateMemoryWindow(protectionDomain, type);
    }

    @Override
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        return fails("bindMemoryWindow") ? failure : super.bindMemoryWindow(queuePair, memoryWindow, bind);
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        return fails("createExtendedCompletionQueue") ? failure : super.createExtendedCompletionQueue(attributes);
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        return fails("resizeCompletionQueue") ? failure : super.resizeCompletionQueue(completionQueue, entries);
    }

    @Override
    public int modifyCompletionQueue(long completionQueue, long attributes) {
        return fails("modifyCompletionQueue") ? failure : super.modifyCompletionQueue(completionQueue, attributes);
    }

    @Override
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        return fails("createSharedReceiveQueue")
                ? failure
                : super.createSharedReceiveQueue(protectionDomain, initialAttributes);
    }

    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        return fails("createExtendedSharedReceiveQueue")
                ? failure
                : super.createExtendedSharedReceiveQueue(initialAttributes);
    }

    @Override
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        return fails("modifySharedReceiveQueue")
                ? failure
                : super.modifySharedReceiveQueue(sharedReceiveQueue, attributes, mask);
    }

    @Override
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        return fails("querySharedReceiveQueue")
                ? failure
                : super.querySharedReceiveQueue(sharedReceiveQueue, attributes);
    }

    @Override
    public int sharedReceiveQueueNumber(long sharedReceiveQueue, long number) {
        return fails("sharedReceiveQueueNumber") ? failure : super.sharedReceiveQueueNumber(sharedReceiveQueue, number);
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        return fails("postSharedReceive") ? failure : super.postSharedReceive(sharedReceiveQueue, workRequest, bad);
    }

    @Override
    public int postSharedOperations(long sharedReceiveQueue, long operation, long bad) {
        return fails("postSharedOperations") ? failure : super.postSharedOperations(sharedReceiveQueue, operation, bad);
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        return fails("createExtendedQueuePair") ? failure : super.createExtendedQueuePair(initialAttributes);
    }

    @Override
    public long openQueuePair(long attributes) {
        return fails("openQueuePair") ? failure : super.openQueuePair(attributes);
    }

    @Override
    public int modifyRateLimit(long queuePair, long attributes) {
        return fails("modifyRateLimit") ? failure : super.modifyRateLimit(queuePair, attributes);
    }

    @Override
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        return fails("queryDataInOrder") ? failure : super.queryDataInOrder(queuePair, opcode, flags);
    }

    @Override
    public int setEce(long queuePair, long ece) {
        return fails("setEce") ? failure : super.setEce(queuePair, ece);
    }

    @Override
    public int queryEce(long queuePair, long ece) {
        return fails("queryEce") ? failure : super.queryEce(queuePair, ece);
    }

    @Override
    public int attachMulticast(long queuePair, long gid, int lid) {
        return fails("attachMulticast") ? failure : super.attachMulticast(queuePair, gid, lid);
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        return fails("detachMulticast") ? failure : super.detachMulticast(queuePair, gid, lid);
    }

    @Override
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        return fails("initAddressFromCompletion")
                ? failure
                : super.initAddressFromCompletion(port, completion, grh, attributes);
    }

    @Override
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        return fails("createAddressHandleFromCompletion")
                ? failure
                : super.createAddressHandleFromCompletion(protectionDomain, completion, grh, port);
    }

    @Override
    public long createWorkQueue(long initialAttributes) {
        return fails("createWorkQueue") ? failure : super.createWorkQueue(initialAttributes);
    }

    @Override
    public int modifyWorkQueue(long workQueue, long attributes) {
        return fails("modifyWorkQueue") ? failure : super.modifyWorkQueue(workQueue, attributes);
    }

    @Override
    public int postWorkQueueReceive(long workQueue, long workRequest, long bad) {
        return fails("postWorkQueueReceive") ? failure : super.postWorkQueueReceive(workQueue, workRequest, bad);
    }

    @Override
    public long createIndirectionTable(long initialAttributes) {
        return fails("createIndirectionTable") ? failure : super.createIndirectionTable(initialAttributes);
    }

    @Override
    public long createFlow(long queuePair, long attributes) {
        return fails("createFlow") ? failure : super.createFlow(queuePair, attributes);
    }

    @Override
    public long createFlowActionEsp(long attributes) {
        return fails("createFlowActionEsp") ? failure : super.createFlowActionEsp(attributes);
    }

    @Override
    public int modifyFlowActionEsp(long action, long attributes) {
        return fails("modifyFlowActionEsp") ? failure : super.modifyFlowActionEsp(action, attributes);
    }

    @Override
    public long createCounters(long attributes) {
        return fails("createCounters") ? failure : super.createCounters(attributes);
    }

    @Override
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        return fails("attachCountersToFlow") ? failure : super.attachCountersToFlow(counters, attributes, flow);
    }

    @Override
    public int readCounters(long counters, long values, int count, int flags) {
        return fails("readCounters") ? failure : super.readCounters(counters, values, count, flags);
    }
}
