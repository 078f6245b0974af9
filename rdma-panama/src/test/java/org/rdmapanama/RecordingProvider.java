package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.rdmapanama.ffm.verbs.ibv_recv_wr;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_wc;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Passes every call on to the real device, and remembers those that begin, use up or end something. A test can make a
 * verb fail, and look around at the moment when one is called.
 */
class RecordingProvider extends ProviderContext {
    /** A call: the verb without its prefix, and the object that it was about. */
    record Call(String verb, long object) {}

    private final ProviderContext real;
    private final List<Call> calls = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger posted = new AtomicInteger();
    private final AtomicInteger completed = new AtomicInteger();
    private final AtomicInteger flushed = new AtomicInteger();
    private final Map<String, Integer> failures = new HashMap<>();
    private final Map<String, Runnable> observers = new HashMap<>();

    RecordingProvider(ProviderContext real) {
        this.real = real;
    }

    static RecordingProvider of(Device device) {
        return new RecordingProvider(device.providerDevice().provider().open(device.providerDevice()));
    }

    /** Makes the next call of a verb return this, without calling the device. */
    void failOnce(String verb, Errno errno) {
        failures.put(verb, -errno.number);
    }

    /** Runs this at each call of a verb, before it reaches the device. */
    void at(String verb, Runnable observer) {
        observers.put(verb, observer);
    }

    List<Call> calls() {
        return List.copyOf(calls);
    }

    List<String> verbs() {
        return calls().stream().map(Call::verb).toList();
    }

    /** How many work requests were posted, the markers of a drain among them. */
    int posted() {
        return posted.get();
    }

    /** How many completions were polled. */
    int completed() {
        return completed.get();
    }

    /** How many of the completions said that their work request was flushed. */
    int flushed() {
        return flushed.get();
    }

    private int record(String verb, long object) {
        calls.add(new Call(verb, object));
        Runnable observer = observers.get(verb);
        if (observer != null) {
            observer.run();
        }
        Integer failure = failures.remove(verb);
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
    public String driver() {
        return real.driver();
    }

    @Override
    public int close() {
        int failure = record("close_device", address());
        return failure < 0 ? failure : real.close();
    }

    @Override
    public int queryDevice(long attributes) {
        return real.queryDevice(attributes);
    }

    @Override
    public int queryPort(int port, long attributes) {
        return real.queryPort(port, attributes);
    }

    @Override
    public int queryGidTable(long entries, int capacity) {
        return real.queryGidTable(entries, capacity);
    }

    @Override
    public int queryPkey(int port, int index) {
        return real.queryPkey(port, index);
    }

    @Override
    public int getAsyncEvent(long event, int timeoutMillis) {
        return real.getAsyncEvent(event, timeoutMillis);
    }

    @Override
    public void ackAsyncEvent(long event) {
        real.ackAsyncEvent(event);
    }

    @Override
    public long allocateProtectionDomain() {
        return real.allocateProtectionDomain();
    }

    @Override
    public int deallocateProtectionDomain(long protectionDomain) {
        int failure = record("dealloc_pd", protectionDomain);
        return failure < 0 ? failure : real.deallocateProtectionDomain(protectionDomain);
    }

    @Override
    public long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        return real.registerMemory(protectionDomain, address, length, iova, access);
    }

    @Override
    public int deregisterMemory(long memoryRegion) {
        int failure = record("dereg_mr", memoryRegion);
        return failure < 0 ? failure : real.deregisterMemory(memoryRegion);
    }

    @Override
    public long createCompletionChannel() {
        return real.createCompletionChannel();
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        int failure = record("destroy_comp_channel", channel);
        return failure < 0 ? failure : real.destroyCompletionChannel(channel);
    }

    @Override
    public long getCompletionEvent(long channel, int timeoutMillis) {
        return real.getCompletionEvent(channel, timeoutMillis);
    }

    @Override
    public long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return real.createCompletionQueue(entries, cqContext, channel, completionVector);
    }

    @Override
    public int destroyCompletionQueue(long completionQueue) {
        int failure = record("destroy_cq", completionQueue);
        return failure < 0 ? failure : real.destroyCompletionQueue(completionQueue);
    }

    @Override
    public int requestNotification(long completionQueue, boolean solicitedOnly) {
        return real.requestNotification(completionQueue, solicitedOnly);
    }

    @Override
    public int pollCompletionQueue(long completionQueue, int capacity, long completions) {
        record("poll_cq", completionQueue);
        int count = real.pollCompletionQueue(completionQueue, capacity, completions);
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
        return real.createQueuePair(protectionDomain, initialAttributes);
    }

    @Override
    public int modifyQueuePair(long queuePair, long attributes, int mask) {
        int failure = record("modify_qp", queuePair);
        return failure < 0 ? failure : real.modifyQueuePair(queuePair, attributes, mask);
    }

    @Override
    public int queryQueuePair(long queuePair, long attributes, int mask, long initialAttributes) {
        return real.queryQueuePair(queuePair, attributes, mask, initialAttributes);
    }

    @Override
    public int destroyQueuePair(long queuePair) {
        int failure = record("destroy_qp", queuePair);
        return failure < 0 ? failure : real.destroyQueuePair(queuePair);
    }

    @Override
    public int postSend(long queuePair, long workRequest, long bad) {
        record("post_send", queuePair);
        int result = real.postSend(queuePair, workRequest, bad);
        posted.addAndGet(
                lengthOfChain(workRequest, firstBad(result, bad), ibv_send_wr.sizeof(), ibv_send_wr.next$offset()));
        return result;
    }

    @Override
    public int postReceive(long queuePair, long workRequest, long bad) {
        record("post_recv", queuePair);
        int result = real.postReceive(queuePair, workRequest, bad);
        posted.addAndGet(
                lengthOfChain(workRequest, firstBad(result, bad), ibv_recv_wr.sizeof(), ibv_recv_wr.next$offset()));
        return result;
    }

    @Override
    public long createAddressHandle(long protectionDomain, long attributes) {
        return real.createAddressHandle(protectionDomain, attributes);
    }

    @Override
    public int destroyAddressHandle(long addressHandle) {
        int failure = record("destroy_ah", addressHandle);
        return failure < 0 ? failure : real.destroyAddressHandle(addressHandle);
    }
}
