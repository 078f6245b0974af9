package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.counts.ContextCounts;
import org.rdmapanama.event.AsyncEvent;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.verbs.ibv_async_event;

/** The objects that were created on an open device, by the addresses of their C structures. */
final class ContextObjects {
    private final Context context;

    /** Changed with the arena's lock held, and read without it to find the source of an event. */
    private final Map<Long, VerbsObject> objects = new ConcurrentHashMap<>();

    /**
     * The queue pairs that report to completion queues, by their numbers: those that have one. Changed as the objects are.
     */
    private final Map<Integer, QueuePair> queuePairs = new ConcurrentHashMap<>();

    ContextObjects(Context context) {
        this.context = context;
    }

    /** For {@link Context#create}. */
    <T extends ContextObject> T create(Creation creation, LongSupplier nativeCreate, LongFunction<T> wrapper) {
        context.arena.lock().lock();
        try {
            context.checkOpen();
            long result = nativeCreate.getAsLong();
            if (result < 0) {
                throw context.failure(
                        creation.verb(),
                        (int) -result,
                        creation.arguments().get(),
                        creation.cures(),
                        creation.capability());
            }
            return adopted(creation, result, wrapper);
        } finally {
            context.arena.lock().unlock();
        }
    }

    /** A native object without a Java object would never be destroyed. */
    private <T extends ContextObject> T adopted(Creation creation, long address, LongFunction<T> wrapper) {
        Ending ending = creation.ending();
        try {
            T object = wrapper.apply(address);
            assert object.ending().equals(ending) : object;
            adopt(object);
            return object;
        } catch (Throwable e) {
            int result = ending.call().end(context.provider(), address);
            if (result < 0) {
                creation.lost().run();
                e.addSuppressed(new VerbsException(ending.verb(), -result, context.toString(), null));
            }
            throw e;
        }
    }

    /** For {@link Context#wrap}. */
    <T extends VerbsObject> T wrap(long nativeAddress, Ownership ownership, LongFunction<T> wrapper) {
        if (nativeAddress == 0) {
            throw new IllegalArgumentException("nativeAddress must not be 0");
        }
        Objects.requireNonNull(ownership, "ownership");
        context.arena.lock().lock();
        try {
            context.checkOpen();
            VerbsObject known = objects.get(nativeAddress);
            if (known != null) {
                throw new IllegalArgumentException(
                        "nativeAddress has a Java object already: " + known + "; use that one");
            }
            T object = wrapper.apply(nativeAddress);
            if (ownership == Ownership.BORROWED) {
                object.borrow();
            }
            adopt(object);
            return object;
        } finally {
            context.arena.lock().unlock();
        }
    }

    private void adopt(VerbsObject object) {
        try {
            object.join();
            objects.put(object.address, object);
            if (object instanceof QueuePair queuePair && queuePair.reports()) {
                queuePairs.put(queuePair.number(), queuePair);
            }
        } catch (Throwable e) {
            object.leave();
            throw e;
        }
    }

    /**
     * Returns the object at an address, or null. Takes no lock: a thread that closes an object holds the arena's lock
     * and waits until the object's events are acknowledged, which comes after this.
     */
    @Nullable
    VerbsObject find(long nativeAddress) {
        return objects.get(nativeAddress);
    }

    /** Reads a {@code struct ibv_async_event}. */
    AsyncEvent readEvent(MemorySegment event) {
        AsyncEventType type = AsyncEventType.of(ibv_async_event.event_type(event));
        MemorySegment element = ibv_async_event.element(event);
        int port = 0;
        EventSource source = context;
        switch (type) {
            case PORT_ACTIVE, PORT_ERR, LID_CHANGE, PKEY_CHANGE, SM_CHANGE, CLIENT_REREGISTER, GID_CHANGE ->
                port = ibv_async_event.element.port_num(element);
            case DEVICE_FATAL, UNKNOWN -> {}
            default -> {
                if (find(ibv_async_event.element.qp(element).address()) instanceof EventSource known) {
                    source = known;
                }
                if (source instanceof QueuePair queuePair) {
                    queuePair.failures().note(type);
                }
            }
        }
        return new AsyncEvent(type, port, source);
    }

    /** Returns an open queue pair that completes requests on a queue, or null. Takes no lock. */
    @Nullable
    QueuePair find(CompletionQueue queue, int number) {
        QueuePair known = queuePairs.get(number);
        return known != null && known.reportsTo(queue) ? known : null;
    }

    /** Returns the only open queue pair that completes requests on a queue; null if there is none, or several. */
    @Nullable
    QueuePair findOnly(CompletionQueue queue) {
        QueuePair only = null;
        for (QueuePair each : queuePairs.values()) {
            if (each.reportsTo(queue)) {
                if (only != null) {
                    return null;
                }
                only = each;
            }
        }
        return only;
    }

    /** Changes the number of an open queue pair, which nobody can close meanwhile. */
    void renumber(QueuePair queuePair, Runnable change) {
        queuePairs.remove(queuePair.number(), queuePair);
        change.run();
        if (queuePair.reports()) {
            queuePairs.put(queuePair.number(), queuePair);
        }
    }

    void forget(VerbsObject object) {
        objects.remove(object.address, object);
        if (object instanceof QueuePair queuePair) {
            queuePairs.remove(queuePair.number(), queuePair);
        }
    }

    /** A view of all objects except the context. Reading it takes no lock. */
    Collection<VerbsObject> all() {
        return objects.values();
    }

    ContextCounts counts() {
        int domains = 0;
        int regions = 0;
        long bytes = 0;
        int queues = 0;
        int pairs = 0;
        int receives = 0;
        int handles = 0;
        int others = 0;
        for (VerbsObject each : objects.values()) {
            switch (each) {
                case ProtectionDomain domain -> domains++;
                case MemoryRegion region -> {
                    regions++;
                    bytes += region.sizeForCounts();
                }
                case CompletionQueue queue -> queues++;
                case QueuePair pair -> pairs++;
                case SharedReceiveQueue queue -> receives++;
                case AddressHandle handle -> handles++;
                default -> others++;
            }
        }
        return new ContextCounts(domains, regions, bytes, queues, pairs, receives, handles, others);
    }

    /** Returns all open queue pairs that this process destroys. */
    List<QueuePair> queuePairs() {
        return objects.values().stream()
                .filter(QueuePair.class::isInstance)
                .map(QueuePair.class::cast)
                .filter(queuePair -> !queuePair.isBorrowed() && !queuePair.isRefused())
                .toList();
    }

    /** Called when the device was closed, after which what is left can no longer be destroyed. */
    void loseAll() {
        objects.values().forEach(VerbsObject::lose);
        objects.clear();
        queuePairs.clear();
    }
}
