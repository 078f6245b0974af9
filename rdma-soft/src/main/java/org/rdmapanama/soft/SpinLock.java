package org.rdmapanama.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock that is held for short. Waiting for it makes no garbage, which cannot be said of the JDK's. Who has it must
 * not take it again.
 */
final class SpinLock {
    private static final int SPINS = 200;
    private static final VarHandle HELD;

    static {
        try {
            HELD = MethodHandles.lookup().findVarHandle(SpinLock.class, "held", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // Used by its handle.
    @SuppressWarnings("unused")
    private volatile int held;

    // Only a hint: it does not matter to whom the processor goes.
    @SuppressWarnings("ThreadPriorityCheck")
    void lock() {
        int spins = 0;
        while (!tryLock()) {
            if (++spins < SPINS) {
                Thread.onSpinWait();
            } else {
                // The holder may have lost its processor.
                Thread.yield();
            }
        }
    }

    boolean tryLock() {
        return (int) HELD.getOpaque(this) == 0 && HELD.compareAndSet(this, 0, 1);
    }

    void unlock() {
        HELD.setRelease(this, 0);
    }
}
