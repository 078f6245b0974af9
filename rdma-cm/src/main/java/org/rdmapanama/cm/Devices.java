package org.rdmapanama.cm;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongPredicate;
import org.apache.logging.log4j.LogManager;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.internal.provider.Logging;

/**
 * The devices that the connections of an arena have open: each once, with one protection domain, until the arena closes. A
 * device that was removed is closed when the last connection through it is: some drivers make who removes it wait for
 * that.
 *
 * <p>Nothing here keeps an arena: while it has a device open, it is kept itself.
 */
final class Devices {
    /** Guarded by itself. What it maps to must not lead to an arena, or no arena would ever be collected. */
    private static final Map<VerbsArena, Devices> OF_ARENAS = new WeakHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();

    /** By address of the struct ibv_device: one that comes back under its name is another one. Guarded by the lock. */
    private final Map<Long, Shared> all = new HashMap<>();

    /** One that is open. Guarded by the lock. */
    private static final class Shared {
        /** The arena has both as long as they are open. */
        private final WeakReference<Context> context;

        private final WeakReference<ProtectionDomain> domain;
        private final String deviceName;
        private int connections;
        private boolean removed;

        Shared(ProtectionDomain domain) {
            this.domain = new WeakReference<>(domain);
            context = new WeakReference<>(domain.context());
            deviceName = domain.context().deviceName();
        }

        /** Null when it is closed. */
        Context openContext() {
            Context known = context.get();
            return known != null && known.isOpen() ? known : null;
        }

        /** Null when it is closed, by whoever uses it. */
        ProtectionDomain openDomain() {
            ProtectionDomain known = domain.get();
            return known != null && known.isOpen() ? known : null;
        }
    }

    private Devices() {}

    static Devices of(VerbsArena arena) {
        synchronized (OF_ARENAS) {
            return OF_ARENAS.computeIfAbsent(arena, key -> new Devices());
        }
    }

    private static List<Devices> ofAllArenas() {
        synchronized (OF_ARENAS) {
            return List.copyOf(OF_ARENAS.values());
        }
    }

    /**
     * The protection domain for a connection, on the device of its id; {@link #release} must follow.
     *
     * @param arena whose devices these are
     * @param given the one that the connection is to have, or null for that of the device
     */
    ProtectionDomain acquire(VerbsArena arena, CmId id, ProtectionDomain given) {
        closeRemovedOrLog();
        lock.lock();
        try {
            ProtectionDomain domain = given == null ? opened(arena, id) : given;
            Shared shared = find(domain);
            if (shared != null) {
                shared.connections++;
            }
            return domain;
        } finally {
            lock.unlock();
        }
    }

    /** With the lock held. */
    private ProtectionDomain opened(VerbsArena arena, CmId id) {
        long device = id.nativeDevice();
        Shared known = all.get(device);
        ProtectionDomain domain = known == null ? null : known.openDomain();
        if (domain != null) {
            return domain;
        }
        Context opened = known == null ? null : known.openContext();
        if (opened != null) {
            ProtectionDomain made = opened.allocateProtectionDomain();
            all.put(device, new Shared(made));
            return made;
        }
        String name = id.deviceName();
        // One of that name that is not this one can only be gone.
        all.values().stream().filter(each -> each.deviceName.equals(name)).forEach(each -> each.removed = true);
        Context context = Context.open(arena, name);
        try {
            ProtectionDomain made = context.allocateProtectionDomain();
            all.put(deviceOf(context), new Shared(made));
            return made;
        } catch (RuntimeException | Error e) {
            RdmaConnection.closeAll(e, context);
            throw e;
        }
    }

    private static long deviceOf(Context context) {
        return ibv_context
                .device(Native.struct(context.nativeAddress(), ibv_context.sizeof()))
                .address();
    }

    /** With the lock held: null for one that somebody else made. */
    @SuppressWarnings("ReferenceEquality") // domains are compared by identity
    private Shared find(ProtectionDomain domain) {
        for (Shared each : all.values()) {
            if (each.domain.get() == domain) {
                return each;
            }
        }
        return null;
    }

    /**
     * A connection is closed, or was not made.
     *
     * @throws VerbsException when the device was removed and closing it fails; its arena will try again
     */
    void release(ProtectionDomain domain) {
        lock.lock();
        try {
            Shared shared = find(domain);
            if (shared != null) {
                shared.connections--;
            }
        } finally {
            lock.unlock();
        }
        closeRemoved();
    }

    /** A verb says that the device may be gone; if so, it is not used for another connection. */
    void check(ProtectionDomain domain) {
        try {
            domain.context().queryDevice();
        } catch (VerbsException | IllegalStateException gone) {
            lock.lock();
            try {
                Shared shared = find(domain);
                if (shared != null) {
                    shared.removed = true;
                }
            } finally {
                lock.unlock();
            }
        }
    }

    /** The kernel says that a device is gone: {@link #closeAllRemoved} closes it where nobody is connected through it. */
    static void removed(long device) {
        markRemoved(each -> each == device);
    }

    /** As {@link #removed}, for all that are not among these. */
    static void keepOnly(Set<Long> devices) {
        markRemoved(each -> !devices.contains(each));
    }

    private static void markRemoved(LongPredicate isGone) {
        for (Devices each : ofAllArenas()) {
            each.lock.lock();
            try {
                each.all.forEach((device, shared) -> shared.removed |= isGone.test(device));
            } finally {
                each.lock.unlock();
            }
        }
    }

    /** To be called without a lock. */
    static void closeAllRemoved() {
        ofAllArenas().forEach(Devices::closeRemovedOrLog);
    }

    private void closeRemovedOrLog() {
        try {
            closeRemoved();
        } catch (VerbsException e) {
            Logging.load();
            LogManager.getLogger(Devices.class)
                    .error("a device that was removed could not be closed; its arena will try again", e);
        }
    }

    private void closeRemoved() {
        VerbsException failure = null;
        for (Map.Entry<Long, Shared> each : unused()) {
            Context context = each.getValue().openContext();
            try {
                if (context != null) {
                    context.close();
                }
            } catch (WrongThreadException | IllegalStateException notNow) {
                // Of an arena that is confined to another thread, or in use for something else: with its next
                // connection.
                continue;
            } catch (VerbsException e) {
                failure = e;
            }
            lock.lock();
            try {
                all.remove(each.getKey(), each.getValue());
            } finally {
                lock.unlock();
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    private List<Map.Entry<Long, Shared>> unused() {
        lock.lock();
        try {
            return all.entrySet().stream()
                    .filter(each -> each.getValue().removed && each.getValue().connections == 0)
                    .map(each -> Map.entry(each.getKey(), each.getValue()))
                    .toList();
        } finally {
            lock.unlock();
        }
    }
}
