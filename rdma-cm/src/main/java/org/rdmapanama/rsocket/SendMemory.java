package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.cm.internal.Releasing;

/**
 * The memory that the channels of one device share: what they send from, and what the program has registered to send from
 * without a copy.
 *
 * <p>Channels and registrations are its users; when the last one is gone, nothing stays registered. Threads: any.
 */
final class SendMemory {
    private static final Map<ProtectionDomain, SendMemory> ALL = new HashMap<>();

    /** Guards {@link #ALL} and what is in it. Not a monitor: registering waits for the arena's lock. */
    private static final ReentrantLock LOCK = new ReentrantLock();

    private static final RegisteredMemory[] NONE = {};

    /** How many registrations there are, on all devices. */
    private static final AtomicInteger REGISTRATIONS = new AtomicInteger();

    private final ProtectionDomain domain;
    private final Map<Integer, SendRings> rings = new ConcurrentHashMap<>();

    /** Guarded by the lock. */
    private int users;

    /** Changed with the lock held. */
    private volatile RegisteredMemory[] registered = NONE;

    private SendMemory(ProtectionDomain domain) {
        this.domain = domain;
    }

    /** Returns the memory of a device for one more user, who {@linkplain #release releases} it. */
    static SendMemory acquire(ProtectionDomain domain) {
        LOCK.lock();
        try {
            SendMemory memory = ALL.computeIfAbsent(domain, SendMemory::new);
            memory.users++;
            return memory;
        } finally {
            LOCK.unlock();
        }
    }

    /**
     * Ends the use of one user. After the last one everything is freed.
     *
     * @throws org.rdmapanama.VerbsException when the device refuses it; all the rest is freed, and this is forgotten
     */
    void release() {
        LOCK.lock();
        try {
            if (--users == 0) {
                ALL.remove(domain);
                Releasing.each(rings.values().stream()
                        .map(each -> (AutoCloseable) each::close)
                        .toArray(AutoCloseable[]::new));
            }
        } finally {
            LOCK.unlock();
        }
    }

    /** Returns how many users there are: for tests. */
    int users() {
        LOCK.lock();
        try {
            return users;
        } finally {
            LOCK.unlock();
        }
    }

    /** Returns the rings of a size to send from. */
    SendRings rings(int bytes) {
        return rings.computeIfAbsent(bytes, size -> new SendRings(domain, size));
    }

    /** Has channels send from certain rings: for tests. */
    void rings(int bytes, SendRings made) {
        rings.put(bytes, made);
    }

    /** Whether the program has registered any memory: if not, nobody needs to look. */
    static boolean hasRegistrations() {
        return REGISTRATIONS.get() > 0;
    }

    /**
     * Registers memory of the program.
     *
     * @throws org.rdmapanama.VerbsException when the device refuses it
     */
    static RegisteredMemory register(ProtectionDomain domain, MemorySegment memory) {
        SendMemory device = acquire(domain);
        try {
            MemoryRegion region = domain.register(memory);
            RegisteredMemory made = new RegisteredMemory(device, region);
            device.add(made);
            return made;
        } catch (RuntimeException | Error e) {
            Releasing.after(e, device::release);
            throw e;
        }
    }

    private void add(RegisteredMemory made) {
        LOCK.lock();
        try {
            RegisteredMemory[] more = Arrays.copyOf(registered, registered.length + 1);
            more[registered.length] = made;
            registered = more;
            REGISTRATIONS.incrementAndGet();
        } finally {
            LOCK.unlock();
        }
    }

    void remove(RegisteredMemory closed) {
        LOCK.lock();
        try {
            registered = Arrays.stream(registered)
                    .filter(each -> !each.equals(closed))
                    .toArray(RegisteredMemory[]::new);
            REGISTRATIONS.decrementAndGet();
        } finally {
            LOCK.unlock();
        }
    }

    /** Returns the registration that native memory is in, and begins to use it; null if there is none. */
    @Nullable
    RegisteredMemory use(long address, long length) {
        for (RegisteredMemory each : registered) {
            if (each.contains(address, length) && each.begin()) {
                return each;
            }
        }
        return null;
    }
}
