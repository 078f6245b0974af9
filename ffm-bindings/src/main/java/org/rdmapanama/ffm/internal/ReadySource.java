package org.rdmapanama.ffm.internal;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * What threads wait for: a queue of events of a device. It either has a file descriptor, which is readable while there
 * is an event, or the device {@linkplain #signal signals} each event itself. In that case, it may have a descriptor as
 * well, which is readable while the device has something to do that a look for events does.
 *
 * <p>A listener that is {@linkplain #add added} before it looks for events misses none: each event that it does not find
 * is signalled to it. With a descriptor this takes {@link #arm} as well, before each sleep. A signal says no more than that
 * it is time to look again; there may be nothing.
 *
 * <p>Threads: any. Adding, removing and signalling allocate nothing in the long run.
 */
public final class ReadySource {
    private static final long NAP_NANOS = 20_000;

    /** Is told when there may be an event. */
    public interface Listener {
        /** Called when there may be an event. It must return soon, and may be called after it was removed. */
        void signalled();

        /** Called when the source closes. Each look for events fails from then on. */
        default void closed() {
            signalled();
        }
    }

    /** -1 if there is none. */
    private final int fd;

    private final BooleanSupplier ready;

    /** Tells whether a thread may wait for the descriptor, or null if it always may. */
    private final BooleanSupplier maySleep;

    /** Does what the device has to do, or null if no thread that waits needs to. */
    private final Runnable work;

    /** Has the device do its work itself, or null if no thread that waits does it. */
    private final Runnable leaveWork;

    /** Of virtual threads that wait for this. */
    final ShortPolling shortPolling = new ShortPolling();

    private final ShortLock lock = new ShortLock();

    /** Guarded by the lock. */
    private Listener[] listeners = new Listener[1];

    /** Guarded by the lock. */
    private int count;

    /** How many calls use the descriptor. Guarded by the lock. */
    private int uses;

    /** Guarded by the lock. */
    private boolean closed;

    /** By which {@link DescriptorPoller} knows this, or 0. Guarded by a lock of that. */
    long cookie;

    /** Whether {@link #wakeup} was called, and nobody has woken up for it yet. */
    private volatile boolean wokenUp;

    /** Whether there is an event that was already taken from the device. */
    private volatile boolean kept;

    /** The source whose descriptor waiting threads poll, or null if it is this one. */
    private volatile ReadySource followed;

    private ReadySource(int fd, BooleanSupplier ready, BooleanSupplier maySleep, Runnable work, Runnable leaveWork) {
        this.fd = fd;
        this.ready = ready;
        this.maySleep = maySleep;
        this.work = work;
        this.leaveWork = leaveWork;
    }

    /**
     * Creates the source of a queue of events with a file descriptor.
     *
     * @param fd a non-blocking descriptor, open until this is {@linkplain #close closed}
     * @return a new source
     */
    public static ReadySource ofDescriptor(int fd) {
        return new ReadySource(fd, null, null, null, null);
    }

    /**
     * Creates the source of a queue of events without a descriptor. Its owner calls {@link #signal} after each event.
     *
     * @param ready tells whether there is an event
     * @return a new source
     */
    public static ReadySource of(BooleanSupplier ready) {
        return new ReadySource(-1, ready, null, null, null);
    }

    /**
     * Creates the source of a queue of events that the looks of waiting threads may bring about.
     *
     * @param ready tells whether there is an event
     * @param fd a descriptor that is readable while a look for events may bring one about, open until this is closed; -1
     *     if there is none
     * @param maySleep asked before each wait for the descriptor: whether it will be readable when a look may bring an event
     *     about from now on, so that the thread may wait
     * @param work does what the device has to do, which may bring events about
     * @param leaveWork called before a thread waits without waiting for the descriptor, as virtual threads do: the device
     *     must do its work itself then
     * @return a new source
     */
    public static ReadySource of(
            BooleanSupplier ready, int fd, BooleanSupplier maySleep, Runnable work, Runnable leaveWork) {
        return new ReadySource(fd, ready, maySleep, work, leaveWork);
    }

    /**
     * Returns whether threads that wait can do the work of the device: then they need not be woken up by another one.
     *
     * @return whether {@link #work} does anything
     */
    public boolean hasWork() {
        return work != null && fd >= 0;
    }

    /** Does what the device has to do, unless this is closed. Events that come of it are signalled. */
    public void work() {
        if (work != null && beginUse()) {
            try {
                work.run();
            } finally {
                endUse();
            }
        }
    }

    /**
     * Has threads that wait for this wait for the descriptor of another source, whose {@link #work} they do when they look.
     *
     * @param other the source, or null to end that; {@link #signal} must follow then
     */
    public void follow(ReadySource other) {
        followed = other;
    }

    /**
     * Returns the source that this one follows.
     *
     * @return what {@link #follow} said last, or null
     */
    public ReadySource followed() {
        return followed;
    }

    /** Returns the source whose descriptor a waiting thread polls: this one, or the one that it follows. */
    ReadySource polled() {
        ReadySource other = followed;
        return other == null ? this : other;
    }

    boolean hasDescriptor() {
        return fd >= 0;
    }

    int descriptor() {
        return fd;
    }

    /** Returns whether a thread may wait for the descriptor now; otherwise it must look for events. */
    boolean maySleep() {
        return maySleep == null || maySleep.getAsBoolean();
    }

    /** Tells the device that a thread waits without waiting for the descriptor. */
    void leaveWork() {
        if (leaveWork != null && beginUse()) {
            try {
                leaveWork.run();
            } finally {
                endUse();
            }
        }
    }

    /**
     * Adds a listener.
     *
     * @param listener not added yet
     */
    public void add(Listener listener) {
        lock.lock();
        try {
            if (count == listeners.length) {
                listeners = Arrays.copyOf(listeners, 2 * count);
            }
            listeners[count++] = listener;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Removes a listener.
     *
     * @param listener the listener; does nothing if it was not added
     */
    public void remove(Listener listener) {
        lock.lock();
        try {
            for (int i = 0; i < count; i++) {
                if (listeners[i].equals(listener)) {
                    listeners[i] = listeners[--count];
                    listeners[count] = null;
                    return;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Tells all listeners to look for events. */
    public void signal() {
        tell(false);
    }

    /** Tells all listeners, if there is another one than the caller's, to look for events. */
    public void signalOthers() {
        lock.lock();
        boolean others = count > 1;
        lock.unlock();
        if (others) {
            tell(false);
        }
    }

    /** Waking threads takes long, so it is not done with the lock held where there is one listener. */
    private void tell(boolean closing) {
        Listener[] all = null;
        Listener one = null;
        lock.lock();
        if (count == 1) {
            one = listeners[0];
        } else if (count > 1) {
            all = Arrays.copyOf(listeners, count);
        }
        lock.unlock();
        if (one != null) {
            tell(one, closing);
        } else if (all != null) {
            for (Listener each : all) {
                tell(each, closing);
            }
        }
    }

    private static void tell(Listener listener, boolean closing) {
        if (closing) {
            listener.closed();
        } else {
            listener.signalled();
        }
    }

    /** Ends the current wait without a result or, if there is none, the next one. */
    public void wakeup() {
        wokenUp = true;
        signal();
    }

    /**
     * Returns whether {@link #wakeup} was called, once for each time.
     *
     * @return true if the caller shall end its wait
     */
    public boolean takeWakeup() {
        if (!wokenUp) {
            return false;
        }
        lock.lock();
        try {
            boolean taken = wokenUp;
            wokenUp = false;
            return taken;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Says whether there is an event that was already taken from the device, for another thread than the one that took
     * it.
     *
     * @param value true if there is one; {@link #signal} must follow then
     */
    public void keep(boolean value) {
        kept = value;
    }

    /**
     * Returns what {@link #keep} said last.
     *
     * @return true if there is such an event
     */
    public boolean keeps() {
        return kept;
    }

    /**
     * Returns whether there is an event, or a failure that whoever looks for events will meet.
     *
     * @return false when this is closed
     */
    public boolean isReady() {
        if (kept) {
            return true;
        }
        if (ready != null) {
            return ready.getAsBoolean();
        }
        if (!beginUse()) {
            return false;
        }
        try {
            return Libc.awaitReadable(fd, 0) != 0;
        } finally {
            endUse();
        }
    }

    /** Begins a call that uses the descriptor; {@link #endUse} must follow. Returns false when this is closed. */
    boolean beginUse() {
        lock.lock();
        try {
            uses += closed ? 0 : 1;
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    void endUse() {
        lock.lock();
        uses--;
        lock.unlock();
    }

    /**
     * Has the next event signalled, and an event that is there already, where that takes a descriptor.
     *
     * @return false if that is not possible, for lack of descriptors or threads: then the caller has to look again
     *     after a while
     */
    public boolean arm() {
        if (ready != null || !beginUse()) {
            // A closed one has told its listeners.
            return true;
        }
        try {
            return DescriptorPoller.arm(this);
        } finally {
            endUse();
        }
    }

    /**
     * Tells all listeners that this is closed, and waits until no thread uses the descriptor any more. Then the caller
     * may close that. A second call does nothing.
     */
    public void close() {
        lock.lock();
        boolean first = !closed;
        closed = true;
        lock.unlock();
        if (!first) {
            return;
        }
        tell(true);
        if (fd < 0) {
            return;
        }
        boolean interrupted = false;
        while (isInUse()) {
            // An interrupted thread does not park; a virtual one would keep the carrier from the thread that it waits
            // for.
            interrupted |= Thread.interrupted();
            LockSupport.parkNanos(NAP_NANOS);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        DescriptorPoller.forget(this);
    }

    private boolean isInUse() {
        lock.lock();
        try {
            return uses > 0;
        } finally {
            lock.unlock();
        }
    }
}
