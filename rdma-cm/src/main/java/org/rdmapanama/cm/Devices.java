package org.rdmapanama.cm;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.Context;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.VerbsException;
import org.rdmapanama.cm.internal.Releasing;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.internal.provider.Logging;

/**
 * The devices that the connections of an arena have opened: each once, with one protection domain, until the arena
 * closes. A removed device is closed with the last connection through it, because some drivers make the process that
 * removes a device wait for that.
 *
 * <p>{@link RdmaConnection} acquires and releases devices; {@link EventChannel} and {@link RdmaDevices} report removed
 * ones. All methods may be called from any thread. Nothing here keeps an arena reachable: an arena with an open device
 * keeps itself reachable.
 */
final class Devices {
    /** Guarded by itself. The values must not refer to an arena, or no arena would ever be collected. */
    private static final Map<VerbsArena, Devices> OF_ARENAS = new WeakHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();

    /** Holds at most one entry per device that is not removed. Guarded by the lock. */
    private final List<Shared> all = new ArrayList<>();

    /** An open device and its protection domain. Guarded by the lock. */
    private static final class Shared {
        /** Weak: the arena holds context and domain as long as they are open. */
        private final WeakReference<Context> context;

        private WeakReference<ProtectionDomain> domain;

        /** The address of the struct ibv_device: a device that comes back under the same name has another address. */
        private final long device;

        private final String deviceName;
        private int connections;

        /** Once true, only connections that name its protection domain explicitly get this device. */
        private boolean removed;

        /** Whether some thread is closing it. */
        private boolean closing;

        Shared(ProtectionDomain domain) {
            this.domain = new WeakReference<>(domain);
            context = new WeakReference<>(domain.context());
            device = deviceOf(domain.context());
            deviceName = domain.context().deviceName();
        }

        /** Returns the context, or null if it is closed. */
        @Nullable
        Context openContext() {
            Context known = context.get();
            return known != null && known.isOpen() ? known : null;
        }

        /** Returns the protection domain, or null if its user has closed it. */
        @Nullable
        ProtectionDomain openDomain() {
            ProtectionDomain known = domain.get();
            return known != null && known.isOpen() ? known : null;
        }
    }

    private Devices() {}

    /**
     * Returns the devices that must count a connection: those with the device of the given domain open, or else those
     * of the arena.
     *
     * @param given the protection domain of the connection, or null for the domain of the device
     */
    static Devices of(VerbsArena arena, @Nullable ProtectionDomain given) {
        if (given != null) {
            for (Devices each : ofAllArenas()) {
                if (each.has(given)) {
                    return each;
                }
            }
        }
        return of(arena);
    }

    private static Devices of(VerbsArena arena) {
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
     * Returns the protection domain for a connection, on the device of its id; the caller must {@link #release} it.
     *
     * @param arena the arena that these devices belong to
     * @param given the domain that the options name, or null for the domain of the device
     */
    ProtectionDomain acquire(VerbsArena arena, CmId id, @Nullable ProtectionDomain given) {
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

    private boolean has(ProtectionDomain domain) {
        lock.lock();
        try {
            return find(domain) != null;
        } finally {
            lock.unlock();
        }
    }

    /** Needs the lock. A removed device keeps the connections that it has, even if it seems to be back. */
    private ProtectionDomain opened(VerbsArena arena, CmId id) {
        long device = id.nativeDevice();
        Shared known = all.stream()
                .filter(each -> each.device == device && !each.removed)
                .findAny()
                .orElse(null);
        if (known != null) {
            ProtectionDomain domain = known.openDomain();
            if (domain != null) {
                return domain;
            }
            Context opened = known.openContext();
            if (opened != null) {
                ProtectionDomain made = opened.allocateProtectionDomain();
                known.domain = new WeakReference<>(made);
                return made;
            }
            all.remove(known);
        }
        String name = id.deviceName();
        // Another device with the same name must have been removed.
        all.stream().filter(each -> each.deviceName.equals(name)).forEach(each -> each.removed = true);
        Context context = Context.open(arena, name);
        try {
            ProtectionDomain made = context.allocateProtectionDomain();
            all.add(new Shared(made));
            return made;
        } catch (RuntimeException | Error e) {
            Releasing.after(e, context);
            throw e;
        }
    }

    private static long deviceOf(Context context) {
        return ibv_context
                .device(Native.struct(context.nativeAddress(), ibv_context.sizeof()))
                .address();
    }

    /** Needs the lock. Returns the entry of the domain's device, or null if the program opened that device itself. */
    @SuppressWarnings("ReferenceEquality") // contexts are compared by identity
    private @Nullable Shared find(ProtectionDomain domain) {
        for (Shared each : all) {
            if (each.context.get() == domain.context()) {
                return each;
            }
        }
        return null;
    }

    /**
     * Releases the domain of a connection that was closed, or that could not be made.
     *
     * @throws VerbsException when the device was removed and closing it fails; closing the arena tries again
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

    /** Checks a device after a verb failed as if it were gone; if it is gone, no further connection uses it. */
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

    /**
     * Marks a device that the kernel reports as removed; {@link #closeAllRemoved} closes it once no connection uses it.
     */
    static void removed(long device) {
        markRemoved(each -> each == device);
    }

    /** Marks all devices that are not in the set as removed. */
    static void keepOnly(Set<Long> devices) {
        markRemoved(each -> !devices.contains(each));
    }

    private static void markRemoved(LongPredicate isGone) {
        for (Devices each : ofAllArenas()) {
            each.lock.lock();
            try {
                each.all.forEach(shared -> shared.removed |= isGone.test(shared.device));
            } finally {
                each.lock.unlock();
            }
        }
    }

    /** Closes removed devices that no connection uses. Callers must not hold a lock. */
    static void closeAllRemoved() {
        ofAllArenas().forEach(Devices::closeRemovedOrLog);
    }

    private void closeRemovedOrLog() {
        try {
            closeRemoved();
        } catch (RuntimeException e) {
            // The caller must still finish its own work, such as returning an event.
            Logging.logger(Devices.class).error("cannot close a removed device; closing its arena will try again", e);
        }
    }

    private void closeRemoved() {
        Releasing.each(claimUnused().stream()
                .map(each -> (AutoCloseable) () -> close(each))
                .toArray(AutoCloseable[]::new));
    }

    private void close(Shared claimed) {
        boolean closed = true;
        try {
            Context context = claimed.openContext();
            if (context != null) {
                context.close();
            }
        } catch (WrongThreadException | IllegalStateException notNow) {
            // The arena is confined to another thread, or in use: its next connection tries again.
            closed = false;
        } finally {
            settle(claimed, closed);
        }
    }

    /**
     * Claims the unused removed devices for this thread, which closes them without the lock since that may take long.
     */
    private List<Shared> claimUnused() {
        lock.lock();
        try {
            List<Shared> unused = all.stream()
                    .filter(each -> each.removed && !each.closing)
                    .filter(each -> each.connections == 0 || each.openContext() == null)
                    .toList();
            unused.forEach(each -> each.closing = true);
            return unused;
        } finally {
            lock.unlock();
        }
    }

    private void settle(Shared claimed, boolean closed) {
        lock.lock();
        try {
            claimed.closing = false;
            if (closed) {
                all.remove(claimed);
            }
        } finally {
            lock.unlock();
        }
    }
}
