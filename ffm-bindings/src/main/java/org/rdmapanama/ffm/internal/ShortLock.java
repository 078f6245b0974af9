package org.rdmapanama.ffm.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for sections of a few instructions, which wake no thread. Unlike the locks of the JDK, waiting for it allocates
 * nothing. It is neither reentrant nor fair.
 */
public final class ShortLock {
    private static final int SPINS = 200;

    /** The holder may not be running. */
    private static final long NAP_NANOS = 20_000;

    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(ShortLock.class, "held", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @SuppressWarnings("unused") // through HELD
    private volatile int held;

    /** Creates a lock that nobody holds. */
    public ShortLock() {}

    /** Waits until no other thread holds it, and takes it. */
    public void lock() {
        int spins = 0;
        boolean interrupted = false;
        while (!HELD.compareAndSet(this, 0, 1)) {
            if (++spins % SPINS == 0) {
                // An interrupted thread does not park.
                interrupted |= Thread.interrupted();
                LockSupport.parkNanos(NAP_NANOS);
            } else {
                Thread.onSpinWait();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Gives it up. */
    public void unlock() {
        HELD.setRelease(this, 0);
    }
}
