package org.rdmapanama.soft;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock that is held for short. Waiting for it makes no garbage, which cannot be said of the JDK's. Who has it must
 * not take it again. It is not fair, but who comes gives those a chance who wait already, and who only tries leaves it
 * to them.
 */
final class SpinLock {
    private static final int SPINS = 200;

    /** How often one gives way to those who wait: they may have no processor, and then nobody would go on. */
    private static final int MAX_GIVING_WAY = 8;

    /** The same, for who only tries, which takes less time. */
    private static final int MAX_TRIES = 16;

    /** Who waited in vain for as long as that takes sleeps between two tries. */
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

    // Used by its handle.
    @SuppressWarnings("unused")
    private volatile int held;

    /** How many wait. */
    private volatile int waiting;

    /** How many of them have a processor, and take it as soon as they can. */
    private volatile int spinning;

    /** How many tries in a row were given up for the sake of those who wait; no more than a hint. */
    private int tries;

    void lock() {
        if (!take()) {
            await();
        }
    }

    /** The same, for who takes it again and again: those who wait come first. */
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
                // The holder may have lost its processor.
                giveWay();
            } else {
                // It sends many packets, say, and those who are to take them may need this processor. It may also be a
                // virtual thread without a carrier: yielding is no way to leave it this one, and a thread that is
                // interrupted does not park.
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

    // Only a hint: it does not matter to whom the processor goes.
    @SuppressWarnings("ThreadPriorityCheck")
    private static void giveWay() {
        Thread.yield();
    }

    private boolean take() {
        return (int) HELD.getOpaque(this) == 0 && HELD.compareAndSet(this, 0, 1);
    }

    /** Takes it if nobody has it, and nobody is about to. */
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
