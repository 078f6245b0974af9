package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * The sleep of a thread that waits for an {@link ReadySource}, until there may be an event:
 *
 * <p>{@snippet :
 * try (Sleeper sleeper = Sleeper.on(source)) {
 *     while (true) {
 *         sleeper.prepare();
 *         if (found()) {
 *             return;
 *         }
 *         sleeper.sleep(nanos);
 *     }
 * }
 * }
 *
 * <p>A thread parks until it is told. A platform thread, whose event has a descriptor, first waits for that itself for a
 * while: this is faster than to be woken up by the {@link DescriptorPoller}. An interrupt does not end that part, so it is
 * short. A virtual thread may do the work of the device for a while before it parks: see {@link ShortPolling}.
 *
 * <p>Sleepers are reused, so that sleeping allocates nothing in the long run. Threads: one for each.
 */
public final class Sleeper implements ReadySource.Listener, AutoCloseable {
    /** The longest native wait, which neither an interrupt ends nor, without an own descriptor, a signal. */
    private static final int SLICE_MILLIS = 50;

    /** How long a thread sleeps that nobody can tell of events, between two looks. */
    private static final long LOOK_NANOS = 2_000_000;

    private static final long NANOS_PER_MILLI = 1_000_000;

    /**
     * After so many native waits of one sleep that ended without a result, the descriptor tells of work for others: they do
     * it, or the thread of the device, and signal what comes of it.
     */
    private static final int FRUITLESS_WAITS = 8;

    private static final int AWAKE = 0;
    private static final int POLLING = 1;
    private static final int SIGNALLED = 2;

    /** The thread does the work of the device, and looks itself whether it was told. */
    private static final int WORKING = 3;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Sleeper.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Those not in use. Their descriptors are never closed: there are as many as threads have waited at a time. */
    private static Sleeper free;

    private static final ShortLock FREE_LOCK = new ShortLock();

    private volatile int state;
    private volatile Thread thread;
    private ReadySource source;
    private Sleeper next;

    /** Whether the first, native part of the wait is still to come. */
    private boolean toPoll;

    private int fruitless;

    /** An eventfd that ends a native wait, or -1 if there is none. */
    private int ownFd = -1;

    /** Memory for native calls; null until the first one. */
    private MemorySegment memory;

    /** What threads that signal write to the descriptor. */
    private MemorySegment one;

    private Sleeper() {}

    /**
     * Begins a wait of the calling thread, of which the source tells from now on.
     *
     * @param source the source
     * @return a sleeper, which {@link #close} gives back
     */
    public static Sleeper on(ReadySource source) {
        Sleeper sleeper;
        FREE_LOCK.lock();
        sleeper = free;
        if (sleeper != null) {
            free = sleeper.next;
        }
        FREE_LOCK.unlock();
        if (sleeper == null) {
            sleeper = new Sleeper();
        }
        sleeper.begin(source);
        return sleeper;
    }

    private void begin(ReadySource of) {
        source = of;
        thread = Thread.currentThread();
        toPoll = of.polled().hasDescriptor() && !thread.isVirtual();
        fruitless = 0;
        next = null;
        of.add(this);
    }

    /** Must be called before each look for events: what comes after it ends the next sleep. */
    public void prepare() {
        state = AWAKE;
    }

    /**
     * Sleeps until there may be an event since {@link #prepare}, or the time is over, or the thread is interrupted. May
     * return without any reason.
     *
     * @param nanos how long to sleep at most, positive
     */
    public void sleep(long nanos) {
        if (toPoll) {
            int millis = (int) Math.min(SLICE_MILLIS, Math.ceilDiv(nanos, NANOS_PER_MILLI));
            toPoll = poll(millis);
            return;
        }
        ReadySource polled = source.polled();
        if (thread.isVirtual() && polled.hasWork()) {
            workAndPark(polled, nanos);
        } else {
            leaveWorkAndPark(nanos);
        }
    }

    /** Does the work of the device for a while if that may help, and then parks unless it did. */
    private void workAndPark(ReadySource polled, long nanos) {
        ShortPolling polling = source.shortPolling;
        long start = System.nanoTime();
        if (polling.begin()) {
            boolean told;
            try {
                told = work(polled, start, Math.min(nanos, ShortPolling.NANOS));
            } finally {
                polling.end();
            }
            if (told) {
                return;
            }
        }
        long left = nanos - (System.nanoTime() - start);
        if (left > 0) {
            leaveWorkAndPark(left);
        }
        polling.parked(state == SIGNALLED ? System.nanoTime() - start : Long.MAX_VALUE);
    }

    /** Does the work of the device for a while. Returns whether there may be an event, or the thread is interrupted. */
    // A hint to the scheduler; correctness does not depend on it.
    @SuppressWarnings("ThreadPriorityCheck")
    private boolean work(ReadySource polled, long start, long nanos) {
        boolean told = !STATE.compareAndSet(this, AWAKE, WORKING);
        int looks = 0;
        do {
            polled.work();
            told |= state == SIGNALLED || thread.isInterrupted();
            if (!told && ++looks % ShortPolling.LOOKS == 0) {
                // Whoever brings the event about may need this carrier.
                Thread.yield();
            }
        } while (!told && System.nanoTime() - start < nanos);
        told |= !STATE.compareAndSet(this, WORKING, AWAKE);
        if (told && ShortPolling.anyParked()) {
            // This thread may be busy with something else from now on.
            polled.leaveWork();
        }
        return told;
    }

    private void leaveWorkAndPark(long nanos) {
        ShortPolling.parks();
        try {
            source.polled().leaveWork();
            park(source.arm() ? nanos : Math.min(nanos, LOOK_NANOS));
        } finally {
            ShortPolling.unparked();
        }
    }

    private void park(long nanos) {
        if (state != SIGNALLED) {
            LockSupport.parkNanos(nanos);
        }
    }

    /** Waits for the descriptor. Returns whether the next sleep shall do so, too: because this one was short. */
    private boolean poll(int millis) {
        if (memory == null) {
            allocate();
        }
        // It may follow another one at any time.
        ReadySource polled = source.polled();
        if (!polled.hasDescriptor() || !polled.beginUse()) {
            return false;
        }
        try {
            if (!polled.maySleep() || !STATE.compareAndSet(this, AWAKE, POLLING)) {
                return true;
            }
            int ready = Libc.awaitEither(memory, polled.descriptor(), ownFd, millis);
            boolean told = !STATE.compareAndSet(this, POLLING, AWAKE);
            if (ready > 0 && Libc.isOtherReadable(memory)) {
                // Whoever told it may write as late as now: that ends the next native wait, which is then repeated.
                Libc.clear(ownFd, memory);
            }
            return told || (ready > 0 && ++fruitless < FRUITLESS_WAITS);
        } finally {
            polled.endUse();
        }
    }

    private void allocate() {
        ownFd = Math.max(-1, Libc.eventDescriptor());
        one = Arena.global().allocate(8, 8);
        one.set(JAVA_LONG, 0, 1);
        memory = Arena.global().allocate(Libc.EITHER_BYTES, 8);
    }

    @Override
    public void signalled() {
        int before = (int) STATE.getAndSet(this, SIGNALLED);
        if (before == AWAKE) {
            LockSupport.unpark(thread);
        } else if (before == POLLING && ownFd >= 0) {
            Libc.set(ownFd, one);
        }
    }

    @Override
    public void close() {
        source.remove(this);
        source = null;
        thread = null;
        FREE_LOCK.lock();
        next = free;
        free = this;
        FREE_LOCK.unlock();
    }
}
