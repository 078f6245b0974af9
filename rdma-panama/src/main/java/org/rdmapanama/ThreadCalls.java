package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;

/**
 * The calls in progress of a thread that an object is bound to, counted by plain stores; {@link QueueObject} explains how.
 * Only the thread enters and exits. Any thread may end this, for good; then the thread enters no more.
 */
final class ThreadCalls {
    private static final VarHandle CALLS;
    private static final VarHandle ENDED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            CALLS = lookup.findVarHandle(ThreadCalls.class, "calls", int.class);
            ENDED = lookup.findVarHandle(ThreadCalls.class, "ended", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final Thread thread;

    /** The number of calls in progress. Written by the thread only. */
    private int calls;

    @SuppressWarnings("unused") // through ENDED
    private boolean ended;

    /** Whether each look at {@link #calls} from now on shows what the thread has begun before it could see that this ended. */
    private volatile boolean seen;

    /** Without the barrier it has ended from the start, so that the thread counts atomically. */
    ThreadCalls(Thread thread) {
        this.thread = thread;
        ended = !AsymmetricBarrier.AVAILABLE;
        seen = ended;
    }

    /** Begins a call of the thread. Returns false if this has ended. */
    boolean tryEnter() {
        CALLS.setOpaque(this, calls + 1);
        // The barrier of end() stands between the store and the load.
        if (!(boolean) ENDED.getOpaque(this)) {
            return true;
        }
        CALLS.setRelease(this, calls - 1);
        return false;
    }

    /** Ends a call of the thread. */
    void exit() {
        // What the call did comes before the destruction of the object, which follows a load of zero.
        CALLS.setRelease(this, calls - 1);
    }

    /** Whether a call is in progress. Only for the thread itself, and for others after it has terminated. */
    boolean isInside() {
        return calls > 0;
    }

    /**
     * Lets the thread enter no more. It can be repeated.
     *
     * @return whether no call is in progress; false also while the thread is about to be refused
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    boolean end() {
        if (!seen) {
            ENDED.setVolatile(this, true);
            if (thread != Thread.currentThread()) {
                AsymmetricBarrier.run();
            }
            seen = true;
        }
        return (int) CALLS.getVolatile(this) == 0;
    }
}
