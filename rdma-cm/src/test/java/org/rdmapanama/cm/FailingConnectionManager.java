package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntSupplier;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.rdma_cm_event;
import org.rdmapanama.internal.provider.ConnectionManager;
import org.rdmapanama.testing.WrittenMethods;

/**
 * A connection manager of which the n-th call of a thread fails with ENOMEM, whichever it is, and that knows what was made
 * and not ended, by which thread. What ends something without a result cannot fail.
 */
abstract class FailingConnectionManager extends ConnectionManager {
    private static final long FAILURE = -Errno.ENOMEM;

    private final ConnectionManager real;
    private final Map<String, Thread> alive = new ConcurrentHashMap<>();
    private final Set<String> faults = ConcurrentHashMap.newKeySet();

    private final Set<CmEventType> taken = ConcurrentHashMap.newKeySet();

    /** Of the thread that fails; the others go on. */
    private volatile Thread failing;

    /** What happens instead of ending a connection, or null. */
    private volatile IntSupplier insteadOfDisconnect;

    private final List<String> calls = new ArrayList<>();
    private int failingCall;

    FailingConnectionManager(ConnectionManager real) {
        this.real = real;
    }

    static FailingConnectionManager of(ConnectionManager real) {
        return WrittenMethods.passing(
                MethodHandles.lookup(),
                FailingConnectionManager.class,
                ConnectionManager.class,
                method -> method.getReturnType() == int.class || method.getReturnType() == long.class,
                real);
    }

    final ConnectionManager real() {
        return real;
    }

    /** What a method returns instead of calling the real one; 0 if it is to call it. */
    final long guard(String method) {
        return fails(method) ? FAILURE : 0;
    }

    /** From now on the calls of this thread count, and the n-th one fails, counted from 1; none when n is 0. */
    void failAt(int n) {
        calls.clear();
        failingCall = n;
        failing = Thread.currentThread();
    }

    /** From now on this is called instead of ending a connection, and says what that returns. */
    void insteadOfDisconnect(IntSupplier result) {
        insteadOfDisconnect = result;
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

    /** A method that puts what it makes where the pointer says, unless it fails. */
    private int making(String method, String kind, long pointer, IntSupplier making) {
        int result = fails(method) ? (int) FAILURE : making.getAsInt();
        if (result == 0) {
            made(kind, Native.struct(pointer, JAVA_LONG.byteSize()).get(JAVA_LONG, 0));
        }
        return result;
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

    /** The types of the events that were taken. */
    Set<CmEventType> taken() {
        return taken;
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
        int result = making("getEvent", "event", event, () -> real.getEvent(channel, event));
        if (result == 0) {
            long address = Native.struct(event, JAVA_LONG.byteSize()).get(JAVA_LONG, 0);
            MemorySegment struct = Native.struct(address, rdma_cm_event.sizeof());
            CmEventType type = CmEventType.of(rdma_cm_event.event(struct));
            taken.add(type);
            if (type == CmEventType.CONNECT_REQUEST) {
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
        return making("createId", "id", id, () -> real.createId(channel, id, context, portSpace));
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
        return making("createEndpoint", "id", id, () -> real.createEndpoint(id, addressInfo, pd, initialAttributes));
    }

    @Override
    public void destroyEndpoint(long id) {
        ended("id", id);
        real.destroyEndpoint(id);
    }

    @Override
    public int disconnect(long id) {
        IntSupplier instead = insteadOfDisconnect;
        if (instead != null) {
            return instead.getAsInt();
        }
        return fails("disconnect") ? (int) FAILURE : real.disconnect(id);
    }

    @Override
    public int getAddressInfo(long node, long service, long hints, long result) {
        return making("getAddressInfo", "info", result, () -> real.getAddressInfo(node, service, hints, result));
    }

    @Override
    public void freeAddressInfo(long addressInfo) {
        ended("info", addressInfo);
        real.freeAddressInfo(addressInfo);
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
}
