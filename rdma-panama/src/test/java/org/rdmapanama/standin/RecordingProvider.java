package org.rdmapanama.standin;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.rdmapanama.Device;
import org.rdmapanama.Insides;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.SendVerbs;

/**
 * Passes every call on to the real device, and remembers those that begin, use up or end something. A test can make a
 * verb fail, and look around at the moment when one is called.
 */
public class RecordingProvider extends ProviderContext {
    /** A call: the verb without its prefix, and the object that it was about. */
    public record Call(String verb, long object) {}

    private final ProviderContext real;
    private final Lives lives = new Lives();
    private final List<Call> calls = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger posted = new AtomicInteger();
    private final AtomicInteger completed = new AtomicInteger();
    private final AtomicInteger flushed = new AtomicInteger();
    private final Map<String, Integer> failures = new HashMap<>();
    private final Map<Call, Integer> refusals = new HashMap<>();
    private final Map<String, Runnable> observers = new HashMap<>();
    private final Map<String, Long> sizes = new HashMap<>();
    private final Map<String, byte[]> structures = new HashMap<>();

    public RecordingProvider(ProviderContext real) {
        this.real = real;
        lives.made(real.address());
    }

    public static RecordingProvider of(Device device) {
        return new RecordingProvider(Insides.provider(device));
    }

    /** Makes the next call of a verb return this, without calling the device. */
    public void failOnce(String verb, int errno) {
        failures.put(verb, -errno);
    }

    /** As {@link #failOnce(String, int)}, for the next call about one object. */
    public void failOnce(Call call, int errno) {
        refusals.put(call, -errno);
    }

    /** Runs this at each call of a verb, before it reaches the device. */
    public void at(String verb, Runnable observer) {
        observers.put(verb, observer);
    }

    public List<Call> calls() {
        return List.copyOf(calls);
    }

    public List<String> verbs() {
        return calls().stream().map(Call::verb).toList();
    }

    /** How many work requests were posted, the markers of a drain among them. */
    public int posted() {
        return posted.get();
    }

    /** How many completions were polled. */
    public int completed() {
        return completed.get();
    }

    /** How many of the completions said that their work request was flushed. */
    public int flushed() {
        return flushed.get();
    }

    /** Keeps so many bytes of the structure that the next calls of a method pass. */
    public void keepBytes(String method, long size) {
        sizes.put(method, size);
    }

    /** What the last call of a method passed. */
    public byte[] bytesOf(String method) {
        return structures.get(method);
    }

    private void remember(String method, long structure) {
        Long size = sizes.get(method);
        if (size != null) {
            structures.put(method, at(structure, size).toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /** The lives of the objects that were made here. */
    public final Lives lives() {
        return lives;
    }

    /** Ends an object, or fails if that was asked for. */
    public final int ending(String verb, long object, IntSupplier destroy) {
        int failure = record(verb, object);
        return failure < 0 ? failure : lives.ending(verb, object, destroy);
    }

    private int record(String verb, long object) {
        Call call = new Call(verb, object);
        calls.add(call);
        Runnable observer = observers.get(verb);
        if (observer != null) {
            observer.run();
        }
        Integer failure = refusals.remove(call);
        if (failure == null) {
            failure = failures.remove(verb);
        }
        return failure == null ? 0 : failure;
    }

    @SuppressWarnings("restricted")
    private static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    private static int lengthOfChain(long first, long bad, long size, long nextOffset) {
        int length = 0;
        for (long request = first; request != 0 && request != bad; length++) {
            request = at(request, size).get(ValueLayout.JAVA_LONG, nextOffset);
        }
        return length;
    }

    private static long firstBad(int result, long bad) {
        return result == 0 ? 0 : at(bad, Long.BYTES).get(ValueLayout.JAVA_LONG, 0);
    }

    @Override
    public long address() {
        return real.address();
    }

    @Override
    public String cure(int errno) {
        return real.cure(errno);
    }

    @Override
    public String driver() {
        return real.driver();
    }

    /** Its calls would be seen by nobody. */
    @Override
    public DirectPath directPath() {
        throw new UnsupportedOperationException("a provider that records has no direct path");
    }

    @Override
    public boolean completesEmptyReceives() {
        return real.completesEmptyReceives();
    }

    @Override
    public SendVerbs prepareSendBatches() {
        return real.prepareSendBatches();
    }

    @Override
    public CompletionVerbs preparePollBatches(boolean singleThreaded) {
        return real.preparePollBatches(singleThreaded);
    }

    @Override
    public int close() {
        return ending("close_device", address(), () -> real.close());
    }

    @Override
    public int queryDevice(long attributes) {
        remember("queryDevice", attributes);
        return real.queryDevice(attributes);
    }

    @Override
    public int queryPort(int port, long attributes) {
        remember("queryPort", attributes);
        return real.queryPort(port, attributes);
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        return real.queryGidTable(entries, capacity);
    }

    @Override
    public SortedMap<String, Long> portCounters(String deviceName, int port) {
        return real.portCounters(deviceName, port);
    }

    @Override
    public int queryPkey(int port, int index) {
        return real.queryPkey(port, index);
    }

    @Override
    public ReadySource asyncEvents() {
        return real.asyncEvents();
    }

    @Override
    public int getAsyncEvent(long event) {
        return real.getAsyncEvent(event);
    }

    @Override
    public void ackAsyncEvent(long event) {
        real.ackAsyncEvent(event);
    }

    @Override
    public long allocateProtectionDomain() {
        return lives.made(real.allocateProtectionDomain());
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        return ending("dealloc_pd", protectionDomain, () -> real.deallocateProtectionDomain(protectionDomain));
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        return lives.made(real.registerMemory(protectionDomain, address, length, iova, access));
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        return ending("dereg_mr", memoryRegion, () -> real.deregisterMemory(memoryRegion));
    }

    @Override
    public long createCompletionChannel() {
        return lives.made(real.createCompletionChannel());
    }

    @Override
    public int adoptCompletionChannel(long channel) {
        return real.adoptCompletionChannel(channel);
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return ending("destroy_comp_channel", channel, () -> real.destroyCompletionChannel(channel));
    }

    @Override
    public ReadySource completionEvents(long channel) {
        return real.completionEvents(channel);
    }

    @Override
    public long getCompletionEvent(long channel) {
        return lives.using(channel, () -> real.getCompletionEvent(channel));
    }

    @Override
    public void ackCompletionEvent(long channel, long completionQueue) {
        real.ackCompletionEvent(channel, completionQueue);
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return lives.made(real.createCompletionQueue(entries, cqContext, channel, completionVector));
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        return ending("destroy_cq", completionQueue, () -> real.destroyCompletionQueue(completionQueue));
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        return (int) lives.using(completionQueue, () -> real.requestNotification(completionQueue, solicitedOnly));
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        record("poll_cq", completionQueue);
        int count = (int)
                lives.using(completionQueue, () -> real.pollCompletionQueue(completionQueue, capacity, completions));
        for (int i = 0; i < count; i++) {
            completed.incrementAndGet();
            if (ibv_wc.status(at(completions + i * ibv_wc.sizeof(), ibv_wc.sizeof()))
                    == CompletionStatus.WR_FLUSH_ERR.code()) {
                flushed.incrementAndGet();
            }
        }
        return count;
    }

    @Override
    public long createQueuePair(long protectionDomain, long initialAttributes) {
        remember("createQueuePair", initialAttributes);
        return lives.made(real.createQueuePair(protectionDomain, initialAttributes));
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        remember("modifyQueuePair", attributes);
        int failure = record("modify_qp", queuePair);
        return failure < 0
                ? failure
                : (int) lives.using(queuePair, () -> real.modifyQueuePair(queuePair, attributes, mask));
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        remember("queryQueuePair", attributes);
        return (int) lives.using(queuePair, () -> real.queryQueuePair(queuePair, attributes, mask, initialAttributes));
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        return ending("destroy_qp", queuePair, () -> real.destroyQueuePair(queuePair));
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        record("post_send", queuePair);
        int result = (int) lives.using(queuePair, () -> real.postSend(queuePair, workRequest, bad));
        posted.addAndGet(
                lengthOfChain(workRequest, firstBad(result, bad), ibv_send_wr.sizeof(), ibv_send_wr.next$offset()));
        return result;
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        record("post_recv", queuePair);
        int result = (int) lives.using(queuePair, () -> real.postReceive(queuePair, workRequest, bad));
        posted.addAndGet(
                lengthOfChain(workRequest, firstBad(result, bad), ibv_recv_wr.sizeof(), ibv_recv_wr.next$offset()));
        return result;
    }

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        remember("createAddressHandle", attributes);
        return lives.made(real.createAddressHandle(protectionDomain, attributes));
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        return ending("destroy_ah", addressHandle, () -> real.destroyAddressHandle(addressHandle));
    }

    @Override
    public int queryGid(int port, int index, long gid) {
        return real.queryGid(port, index, gid);
    }

    @Override
    public int queryGidEx(int port, int index, long entry) {
        return real.queryGidEx(port, index, entry);
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return real.pkeyIndex(port, pkey);
    }

    @Override
    public int queryRealTime(long values) {
        remember("queryRealTime", values);
        return real.queryRealTime(values);
    }

    @Override
    public int resolveEthernetAddress(long attributes, long mac, long vlan) {
        remember("resolveEthernetAddress", attributes);
        return real.resolveEthernetAddress(attributes, mac, vlan);
    }

    @Override
    public long importProtectionDomain(int handle) {
        return lives.made(real.importProtectionDomain(handle));
    }

    @Override
    public void unimportProtectionDomain(long protectionDomain) {
        ending("unimport_pd", protectionDomain, () -> {
            real.unimportProtectionDomain(protectionDomain);
            return 0;
        });
    }

    @Override
    public long importMemoryRegion(long protectionDomain, int handle) {
        return lives.made(real.importMemoryRegion(protectionDomain, handle));
    }

    @Override
    public void unimportMemoryRegion(long memoryRegion) {
        ending("unimport_mr", memoryRegion, () -> {
            real.unimportMemoryRegion(memoryRegion);
            return 0;
        });
    }

    @Override
    public long importDeviceMemory(int handle) {
        return lives.made(real.importDeviceMemory(handle));
    }

    @Override
    public void unimportDeviceMemory(long deviceMemory) {
        ending("unimport_dm", deviceMemory, () -> {
            real.unimportDeviceMemory(deviceMemory);
            return 0;
        });
    }

    @Override
    public long allocateThreadDomain(long attributes) {
        remember("allocateThreadDomain", attributes);
        return lives.made(real.allocateThreadDomain(attributes));
    }

    @Override
    public int deallocateThreadDomain(long threadDomain) {
        return ending("dealloc_td", threadDomain, () -> real.deallocateThreadDomain(threadDomain));
    }

    @Override
    public long allocateParentDomain(long attributes) {
        remember("allocateParentDomain", attributes);
        return lives.made(real.allocateParentDomain(attributes));
    }

    @Override
    public long openXrcDomain(long attributes) {
        remember("openXrcDomain", attributes);
        return lives.made(real.openXrcDomain(attributes));
    }

    @Override
    public int closeXrcDomain(long xrcDomain) {
        return ending("close_xrcd", xrcDomain, () -> real.closeXrcDomain(xrcDomain));
    }

    @Override
    public int reregisterMemory(
            long memoryRegion, int flags, long protectionDomain, long address, long length, int access, long code) {
        int failure = record("rereg_mr", memoryRegion);
        return failure < 0
                ? failure
                : real.reregisterMemory(memoryRegion, flags, protectionDomain, address, length, access, code);
    }

    @Override
    public long registerDmaBuffer(long protectionDomain, long offset, long length, long iova, int fd, int access) {
        return lives.made(real.registerDmaBuffer(protectionDomain, offset, length, iova, fd, access));
    }

    @Override
    public long allocateNullRegion(long protectionDomain) {
        return lives.made(real.allocateNullRegion(protectionDomain));
    }

    @Override
    public int advise(long protectionDomain, int advice, int flags, long list, int count) {
        remember("advise", list);
        return real.advise(protectionDomain, advice, flags, list, count);
    }

    @Override
    public long allocateDeviceMemory(long attributes) {
        remember("allocateDeviceMemory", attributes);
        return lives.made(real.allocateDeviceMemory(attributes));
    }

    @Override
    public int freeDeviceMemory(long deviceMemory) {
        return ending("free_dm", deviceMemory, () -> real.freeDeviceMemory(deviceMemory));
    }

    @Override
    public int copyToDeviceMemory(long deviceMemory, long offset, long host, long length) {
        return real.copyToDeviceMemory(deviceMemory, offset, host, length);
    }

    @Override
    public int copyFromDeviceMemory(long host, long deviceMemory, long offset, long length) {
        return real.copyFromDeviceMemory(host, deviceMemory, offset, length);
    }

    @Override
    public long registerDeviceMemory(long protectionDomain, long deviceMemory, long offset, long length, int access) {
        return lives.made(real.registerDeviceMemory(protectionDomain, deviceMemory, offset, length, access));
    }

    @Override
    public long allocateMemoryWindow(long protectionDomain, int type) {
        return lives.made(real.allocateMemoryWindow(protectionDomain, type));
    }

    @Override
    public int deallocateMemoryWindow(long memoryWindow) {
        return ending("dealloc_mw", memoryWindow, () -> real.deallocateMemoryWindow(memoryWindow));
    }

    @Override
    public int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        remember("bindMemoryWindow", bind);
        return (int) lives.using(
                queuePair, () -> lives.using(memoryWindow, () -> real.bindMemoryWindow(queuePair, memoryWindow, bind)));
    }

    @Override
    public long createExtendedCompletionQueue(long attributes) {
        remember("createExtendedCompletionQueue", attributes);
        return lives.made(real.createExtendedCompletionQueue(attributes));
    }

    @Override
    public int resizeCompletionQueue(long completionQueue, int entries) {
        return real.resizeCompletionQueue(completionQueue, entries);
    }

    @Override
    public int modifyCompletionQueue(long completionQueue, long attributes) {
        remember("modifyCompletionQueue", attributes);
        return real.modifyCompletionQueue(completionQueue, attributes);
    }

    @Override
    public long createSharedReceiveQueue(long protectionDomain, long initialAttributes) {
        remember("createSharedReceiveQueue", initialAttributes);
        return lives.made(real.createSharedReceiveQueue(protectionDomain, initialAttributes));
    }

    @Override
    public long createExtendedSharedReceiveQueue(long initialAttributes) {
        remember("createExtendedSharedReceiveQueue", initialAttributes);
        return lives.made(real.createExtendedSharedReceiveQueue(initialAttributes));
    }

    @Override
    public int modifySharedReceiveQueue(long sharedReceiveQueue, long attributes, int mask) {
        remember("modifySharedReceiveQueue", attributes);
        return real.modifySharedReceiveQueue(sharedReceiveQueue, attributes, mask);
    }

    @Override
    public int querySharedReceiveQueue(long sharedReceiveQueue, long attributes) {
        remember("querySharedReceiveQueue", attributes);
        return real.querySharedReceiveQueue(sharedReceiveQueue, attributes);
    }

    @Override
    public int sharedReceiveQueueNumber(long sharedReceiveQueue, long number) {
        return real.sharedReceiveQueueNumber(sharedReceiveQueue, number);
    }

    @Override
    public int destroySharedReceiveQueue(long sharedReceiveQueue) {
        return ending("destroy_srq", sharedReceiveQueue, () -> real.destroySharedReceiveQueue(sharedReceiveQueue));
    }

    @Override
    public int postSharedReceive(long sharedReceiveQueue, long workRequest, long bad) {
        int failure = record("post_srq_recv", sharedReceiveQueue);
        return failure < 0
                ? failure
                : (int) lives.using(
                        sharedReceiveQueue, () -> real.postSharedReceive(sharedReceiveQueue, workRequest, bad));
    }

    @Override
    public int postSharedOperations(long sharedReceiveQueue, long operation, long bad) {
        remember("postSharedOperations", operation);
        return real.postSharedOperations(sharedReceiveQueue, operation, bad);
    }

    @Override
    public long createExtendedQueuePair(long initialAttributes) {
        remember("createExtendedQueuePair", initialAttributes);
        return lives.made(real.createExtendedQueuePair(initialAttributes));
    }

    @Override
    public long openQueuePair(long attributes) {
        remember("openQueuePair", attributes);
        return lives.made(real.openQueuePair(attributes));
    }

    @Override
    public long extended(long queuePair) {
        return real.extended(queuePair);
    }

    @Override
    public int modifyRateLimit(long queuePair, long attributes) {
        remember("modifyRateLimit", attributes);
        return real.modifyRateLimit(queuePair, attributes);
    }

    @Override
    public int queryDataInOrder(long queuePair, int opcode, int flags) {
        return real.queryDataInOrder(queuePair, opcode, flags);
    }

    @Override
    public int setEce(long queuePair, long ece) {
        remember("setEce", ece);
        return real.setEce(queuePair, ece);
    }

    @Override
    public int queryEce(long queuePair, long ece) {
        remember("queryEce", ece);
        return real.queryEce(queuePair, ece);
    }

    @Override
    public int attachMulticast(long queuePair, long gid, int lid) {
        return (int) lives.using(queuePair, () -> real.attachMulticast(queuePair, gid, lid));
    }

    @Override
    public int detachMulticast(long queuePair, long gid, int lid) {
        return (int) lives.using(queuePair, () -> real.detachMulticast(queuePair, gid, lid));
    }

    @Override
    public int initAddressFromCompletion(int port, long completion, long grh, long attributes) {
        remember("initAddressFromCompletion", attributes);
        return real.initAddressFromCompletion(port, completion, grh, attributes);
    }

    @Override
    public long createAddressHandleFromCompletion(long protectionDomain, long completion, long grh, int port) {
        return lives.made(real.createAddressHandleFromCompletion(protectionDomain, completion, grh, port));
    }

    @Override
    public long createWorkQueue(long initialAttributes) {
        remember("createWorkQueue", initialAttributes);
        return lives.made(real.createWorkQueue(initialAttributes));
    }

    @Override
    public int modifyWorkQueue(long workQueue, long attributes) {
        remember("modifyWorkQueue", attributes);
        return (int) lives.using(workQueue, () -> real.modifyWorkQueue(workQueue, attributes));
    }

    @Override
    public int destroyWorkQueue(long workQueue) {
        return ending("destroy_wq", workQueue, () -> real.destroyWorkQueue(workQueue));
    }

    @Override
    public int postWorkQueueReceive(long workQueue, long workRequest, long bad) {
        return (int) lives.using(workQueue, () -> real.postWorkQueueReceive(workQueue, workRequest, bad));
    }

    @Override
    public long createIndirectionTable(long initialAttributes) {
        remember("createIndirectionTable", initialAttributes);
        return lives.made(real.createIndirectionTable(initialAttributes));
    }

    @Override
    public int destroyIndirectionTable(long table) {
        return ending("destroy_rwq_ind_table", table, () -> real.destroyIndirectionTable(table));
    }

    @Override
    public long createFlow(long queuePair, long attributes) {
        remember("createFlow", attributes);
        return lives.made(real.createFlow(queuePair, attributes));
    }

    @Override
    public int destroyFlow(long flow) {
        return ending("destroy_flow", flow, () -> real.destroyFlow(flow));
    }

    @Override
    public long createFlowActionEsp(long attributes) {
        remember("createFlowActionEsp", attributes);
        return lives.made(real.createFlowActionEsp(attributes));
    }

    @Override
    public int modifyFlowActionEsp(long action, long attributes) {
        remember("modifyFlowActionEsp", attributes);
        return real.modifyFlowActionEsp(action, attributes);
    }

    @Override
    public int destroyFlowAction(long action) {
        return ending("destroy_flow_action", action, () -> real.destroyFlowAction(action));
    }

    @Override
    public long createCounters(long attributes) {
        remember("createCounters", attributes);
        return lives.made(real.createCounters(attributes));
    }

    @Override
    public int destroyCounters(long counters) {
        return ending("destroy_counters", counters, () -> real.destroyCounters(counters));
    }

    @Override
    public int attachCountersToFlow(long counters, long attributes, long flow) {
        remember("attachCountersToFlow", attributes);
        return real.attachCountersToFlow(counters, attributes, flow);
    }

    @Override
    public int readCounters(long counters, long values, int count, int flags) {
        remember("readCounters", values);
        return real.readCounters(counters, values, count, flags);
    }
}
