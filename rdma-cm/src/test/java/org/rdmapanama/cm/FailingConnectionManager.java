package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * A connection manager of which the n-th call of a thread fails with ENOMEM, whichever it is, and that knows what was made
 * and not ended, by which thread. What ends something without a result cannot fail.
 */
final class FailingConnectionManager extends ConnectionManager {
    private static final long FAILURE = -Errno.ENOMEM;

    private final ConnectionManager real;
    private final Map<String, Thread> alive = new ConcurrentHashMap<>();
    private final Set<String> faults = ConcurrentHashMap.newKeySet();

    /** Of the thread that fails; the others go on. */
    private volatile Thread failing;

    private final List<String> calls = new ArrayList<>();
    private int failingCall;

    FailingConnectionManager(ConnectionManager real) {
        this.real = real;
    }

    /** From now on the calls of this thread count, and the n-th one fails, counted from 1; none when n is 0. */
    void failAt(int n) {
        calls.clear();
        failingCall = n;
        failing = Thread.currentThread();
    }

    /** The call that failed; null when there were not so many. */
    String failed() {
        return failingCall > 0 && calls.size() >= failingCall ? calls.get(failingCall - 1) : null;
    }

    private boolean fails(String method) {
        if (!Thread.currentThread().equals(failing)) {
            return false;
        }
        calls.add(method);
        return calls.size() == failingCall;
    }

    private long made(String kind, long address) {
        if (address > 0 && alive.put(kind + " 0x" + Long.toHexString(address), Thread.currentThread()) != null) {
            faults.add(kind + " made twice");
        }
        return address;
    }

    private long madeAt(String kind, long pointer) {
        return made(kind, Native.struct(pointer, JAVA_LONG.byteSize()).get(JAVA_LONG, 0));
    }

    private void ended(String kind, long address) {
        if (alive.remove(kind + " 0x" + Long.toHexString(address)) == null) {
            faults.add(kind + " ended twice");
        }
    }

    /** What there is. */
    Set<String> alive() {
        return new TreeSet<>(alive.keySet());
    }

    /** What there is of this thread. */
    Set<String> aliveOfThisThread() {
        Set<String> own = new TreeSet<>();
        alive.forEach((object, thread) -> {
            if (thread.equals(Thread.currentThread())) {
                own.add(object);
            }
        });
        return own;
    }

    /** What went wrong. */
    Set<String> faults() {
        return faults;
    }

    @Override
    public String cure(int errno) {
        return real.cure(errno);
    }

    @Override
    public int awaitEvent(long channel, int timeoutMillis) {
        return fails("awaitEvent") ? (int) FAILURE : real.awaitEvent(channel, timeoutMillis);
    }

    @Override
    public long createEventChannel() {
        return fails("createEventChannel") ? FAILURE : made("channel", real.createEventChannel());
    }

    @Override
    public void destroyEventChannel(long channel) {
        ended("channel", channel);
        real.destroyEventChannel(channel);
    }

    @Override
    public int getEvent(long channel, long event) {
        if (fails("getEvent")) {
            return (int) FAILURE;
        }
        int result = real.getEvent(channel, event);
        if (result == 0) {
            long address = madeAt("event", event);
            MemorySegment struct = Native.struct(address, rdma_cm_event.sizeof());
            if (CmEventType.of(rdma_cm_event.event(struct)) == CmEventType.CONNECT_REQUEST) {
                made("id", rdma_cm_event.id(struct).address());
            }
        }
        return result;
    }

    @Override
    public int ackEvent(long event) {
        ended("event", event);
        return real.ackEvent(event);
    }

    @Override
    public int createId(long channel, long id, long context, int portSpace) {
        int result = fails("createId") ? (int) FAILURE : real.createId(channel, id, context, portSpace);
        if (result == 0) {
            madeAt("id", id);
        }
        return result;
    }

    @Override
    public int destroyId(long id) {
        if (fails("destroyId")) {
            return (int) FAILURE;
        }
        ended("id", id);
        return real.destroyId(id);
    }

    @Override
    public int createEndpoint(long id, long addressInfo, long pd, long initialAttributes) {
        int result =
                fails("createEndpoint") ? (int) FAILURE : real.createEndpoint(id, addressInfo, pd, initialAttributes);
        if (result == 0) {
            madeAt("id", id);
        }
        return result;
    }

    @Override
    public void destroyEndpoint(long id) {
        ended("id", id);
        real.destroyEndpoint(id);
    }

    @Override
    public int bindAddress(long id, long address) {
        return fails("bindAddress") ? (int) FAILURE : real.bindAddress(id, address);
    }

    @Override
    public int resolveAddress(long id, long source, long destination, int timeoutMillis) {
        return fails("resolveAddress") ? (int) FAILURE : real.resolveAddress(id, source, destination, timeoutMillis);
    }

    @Override
    public int resolveRoute(long id, int timeoutMillis) {
        return fails("resolveRoute") ? (int) FAILURE : real.resolveRoute(id, timeoutMillis);
    }

    @Override
    public int listen(long id, int backlog) {
        return fails("listen") ? (int) FAILURE : real.listen(id, backlog);
    }

    @Override
    public int connect(long id, long parameters) {
        return fails("connect") ? (int) FAILURE : real.connect(id, parameters);
    }

    @Override
    public int accept(long id, long parameters) {
        return fails("accept") ? (int) FAILURE : real.accept(id, parameters);
    }

    @Override
    public int establish(long id) {
        return fails("establish") ? (int) FAILURE : real.establish(id);
    }

    @Override
    public int reject(long id, long privateData, byte length) {
        return fails("reject") ? (int) FAILURE : real.reject(id, privateData, length);
    }

    @Override
    public int rejectEce(long id, long privateData, byte length) {
        return fails("rejectEce") ? (int) FAILURE : real.rejectEce(id, privateData, length);
    }

    @Override
    public int notifyEvent(long id, int event) {
        return fails("notifyEvent") ? (int) FAILURE : real.notifyEvent(id, event);
    }

    @Override
    public int disconnect(long id) {
        return fails("disconnect") ? (int) FAILURE : real.disconnect(id);
    }

    @Override
    public int joinMulticast(long id, long address, long context) {
        return fails("joinMulticast") ? (int) FAILURE : real.joinMulticast(id, address, context);
    }

    @Override
    public int joinMulticastEx(long id, long attributes, long context) {
        return fails("joinMulticastEx") ? (int) FAILURE : real.joinMulticastEx(id, attributes, context);
    }

    @Override
    public int leaveMulticast(long id, long address) {
        return fails("leaveMulticast") ? (int) FAILURE : real.leaveMulticast(id, address);
    }

    @Override
    public int setOption(long id, int level, int option, long value, long size) {
        return fails("setOption") ? (int) FAILURE : real.setOption(id, level, option, value, size);
    }

    @Override
    public int migrateId(long id, long channel) {
        return fails("migrateId") ? (int) FAILURE : real.migrateId(id, channel);
    }

    @Override
    public int getAddressInfo(long node, long service, long hints, long result) {
        int status = fails("getAddressInfo") ? (int) FAILURE : real.getAddressInfo(node, service, hints, result);
        if (status == 0) {
            madeAt("info", result);
        }
        return status;
    }

    @Override
    public void freeAddressInfo(long addressInfo) {
        ended("info", addressInfo);
        real.freeAddressInfo(addressInfo);
    }

    @Override
    public int initQueuePairAttributes(long id, long attributes, long mask) {
        return fails("initQueuePairAttributes") ? (int) FAILURE : real.initQueuePairAttributes(id, attributes, mask);
    }

    @Override
    public int setLocalEce(long id, long ece) {
        return fails("setLocalEce") ? (int) FAILURE : real.setLocalEce(id, ece);
    }

    @Override
    public int getRemoteEce(long id, long ece) {
        return fails("getRemoteEce") ? (int) FAILURE : real.getRemoteEce(id, ece);
    }

    @Override
    public long getDevices(long count) {
        return fails("getDevices") ? FAILURE : made("list", real.getDevices(count));
    }

    @Override
    public void freeDevices(long list) {
        ended("list", list);
        real.freeDevices(list);
    }

    @Override
    public short sourcePort(long id) {
        return real.sourcePort(id);
    }

    @Override
    public short destinationPort(long id) {
        return real.destinationPort(id);
    }
}
