package org.rdmapanama.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for short critical sections: that of the device, and that of the consumers of each completion queue. Unlike
 * the locks of the JDK, waiting for it allocates nothing. It is not reentrant and not fair, but a new caller lets
 * waiting threads go first for a while, and tryLock leaves it to them.
 */
final class SpinLock {
    private static final int SPINS = 200;

    /**
     * How often a caller yields to waiting threads, at most: they may not be running, and then no thread would proceed.
     */
    private static final int MAX_GIVING_WAY = 8;

    /** The same limit for tryLock, which takes less time. */
    private static final int MAX_TRIES = 16;

    /** A thread that still waits after this many yields sleeps between attempts. */
    private static final int MAX_YIELDS = 3;

    private static final long NAP_NANOS = 20_000;

    private static final VarHandle HELD;
    private static final VarHandle WAITING;
    private static final VarHandle SPINNING;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(SpinLock.class, "held", int.class);
            WAITING = MethodHandles.lookup().findVarHandle(SpinLock.class, "waiting", int.class);
            SPINNING = MethodHandles.lookup().findVarHandle(SpinLock.class, "spinning", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // Accessed through its VarHandle.
    @SuppressWarnings("unused")
    private volatile int held;

    /** The number of waiting threads. */
    private volatile int waiting;

    /** The number of waiting threads that are spinning, and will take the lock at once. */
    private volatile int spinning;

    /** The number of consecutive tryLock calls that failed in favour of waiting threads. A racy hint. */
    private int tries;

    void lock() {
        if (!take()) {
            await();
        }
    }

    /** Takes the lock after the threads that already wait, for a thread that takes it again and again. */
    void lockAfterOthers() {
        for (int i = 0; waiting > 0 && i < MAX_GIVING_WAY; i++) {
            giveWay();
        }
        if (waiting > 0) {
            // They sleep.
            LockSupport.parkNanos(this, NAP_NANOS);
        }
        lock();
    }

    private void await() {
        WAITING.getAndAdd(this, 1);
        boolean interrupted = false;
        for (int i = 0; !spin(); i++) {
            if (i < MAX_YIELDS) {
                // The holder may not be running.
                giveWay();
            } else {
                // The holder may be sending many packets whose receivers need this processor. It may also be a virtual
                // thread without a carrier, to which yielding does not give this one. Clear the interrupt first,
                // because an interrupted thread does not park.
                interrupted |= Thread.interrupted();
                LockSupport.parkNanos(this, NAP_NANOS);
            }
        }
        WAITING.getAndAdd(this, -1);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean spin() {
        SPINNING.getAndAdd(this, 1);
        boolean taken = take();
        for (int i = 0; i < SPINS && !taken; i++) {
            Thread.onSpinWait();
            taken = take();
        }
        SPINNING.getAndAdd(this, -1);
        return taken;
    }

    // A hint to the scheduler; correctness does not depend on it.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void giveWay() {
        Thread.yield();
    }

    private boolean take() {
        return (int) HELD.getOpaque(this) == 0 && HELD.compareAndSet(this, 0, 1);
    }

    /** Takes the lock if it is free and no waiting thread is about to take it. */
    boolean tryLock() {
        if (spinning > 0 && ++tries < MAX_TRIES) {
            return false;
        }
        tries = 0;
        return take();
    }

    void unlock() {
        HELD.setRelease(this, 0);
    }
}
