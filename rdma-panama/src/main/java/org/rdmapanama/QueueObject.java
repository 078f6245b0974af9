package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;

/**
 * An object that work is posted to, or completions are taken from. It can be bound to one thread.
 *
 * <p>In a shared arena a call must be known to a thread that closes, because the native object must not be destroyed
 * during the call. Any thread can count its calls by two atomic additions ({@link VerbsObject#enter}). The thread that this
 * is bound to counts those of the data path by plain stores to {@link #calls} instead. Both ways may be in use at the same
 * time; the calls in progress are those of both.
 *
 * <ul>
 *   <li><b>The bound thread</b> stores that it is in a call, and then looks whether this is closed.
 *   <li><b>A closing</b> ({@link #shut}) stores that this is closed, makes all threads execute a memory barrier, and then
 *       looks for a call. So at least one of the two sees the other. The bound thread pays for no barrier; the price is paid
 *       where this is closed. See {@link AsymmetricBarrier}. {@link Closing} waits for the calls in progress, for ten seconds
 *       at most.
 *   <li><b>One thread at a time writes the count:</b> the bound one. After that has terminated in a batch, the count is not
 *       zero, and whoever ends the batch ({@link Batch#finishIfAbandoned}) writes it once. A binding is replaced or ended
 *       only by its own thread or after that has terminated, and only when the count is zero. So the next thread starts from
 *       zero, and no store of an earlier one is still to come.
 *   <li><b>A thread that binds this</b> stores its identity first and then looks whether this is closed; a closing stores that
 *       this is closed and then looks for a bound thread. Both have a full barrier in between. So a closing needs one
 *       barrier at most, for the thread that it finds: a thread that binds this later sees that it is closed.
 *   <li><b>The look for the own identity</b> needs no memory ordering, because only a thread itself stores it, and no other
 *       thread replaces it while that one is alive.
 *   <li><b>Other threads</b> look for a binding before they count. One that counts while the object is being bound is as
 *       safe as without binding; only its next call is refused.
 *   <li><b>Virtual threads</b> are threads like others: they are compared by identity, and what they stored goes with them
 *       to another carrier.
 * </ul>
 *
 * <p>Where the barrier is missing, a bound thread counts by atomic additions. Everything else is the same.
 *
 * <p>Queries and changes of attributes and state are open to all threads, bound or not: connections end in threads of
 * their own, which move queue pairs to the error state.
 */
abstract class QueueObject extends ContextObject {
    private static final int COUNTED_ATOMICALLY = -1;
    private static final VarHandle BOUND;
    private static final VarHandle CALLS;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            BOUND = lookup.findVarHandle(QueueObject.class, "bound", Thread.class);
            CALLS = lookup.findVarHandle(QueueObject.class, "calls", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** The thread that this is bound to, or null. */
    private @Nullable Thread bound;

    /** The number of its calls in progress, unless it counts atomically. */
    private int calls;

    /**
     * Whether this is closed, and each look at {@link #calls} shows a call that began before its thread could see that.
     * Guarded by the arena's lock.
     */
    private boolean callsSeen;

    QueueObject(Context context, long address, VerbsObject... parents) {
        super(context, address, parents);
    }

    QueueObject(Context context, long address, ClearedQueues clearedQueues, VerbsObject... parents) {
        super(context, address, clearedQueues, parents);
    }

    /**
     * Binds this to the calling thread, until {@link #unbindFromThread}. From then on only this thread may post here, poll,
     * wait for completions and request notification. These calls throw {@link WrongThreadException} in other threads, and
     * need no atomic additions in this one.
     *
     * <p>Any thread may still close this, at any time: closing waits for a call in progress, as it does without binding.
     * Any thread may also query and change attributes and state, because connections end in threads of their own.
     *
     * <p>To hand this over, the thread unbinds it, and the other one binds it. When a bound thread has terminated, another
     * one may bind this, or unbind it. A virtual thread can be bound, and may change its carrier.
     *
     * <p>A call or a batch that another thread has begun goes on; its next call is refused. Does nothing if this is bound to
     * the calling thread already, or the arena is confined to it.
     *
     * @throws WrongThreadException when this is bound to another thread that is alive, or the arena is confined to another
     *     thread
     * @throws IllegalStateException when this is closed
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    public final void bindToThread() {
        checkOpen();
        if (arena.owner() == null) {
            Thread me = Thread.currentThread();
            Thread found = boundThread();
            while (found != me) {
                replace(found, me);
                found = boundThread();
            }
            // It may have been closed meanwhile.
            checkOpen();
        }
    }

    /**
     * Ends the binding to the calling thread, so that any thread may use this or bind it. Does nothing if this is not bound,
     * or the arena is confined to the calling thread.
     *
     * @throws WrongThreadException when this is bound to another thread that is alive, or the arena is confined to another
     *     thread
     * @throws IllegalStateException when this is closed, or the calling thread has a batch open on it
     */
    public final void unbindFromThread() {
        checkOpen();
        Thread found = boundThread();
        if (found != null) {
            replace(found, null);
        }
    }

    /** Does nothing if another thread has replaced it already. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private void replace(@Nullable Thread found, @Nullable Thread next) {
        if (found != null) {
            boolean mine = found == Thread.currentThread();
            if (!mine && found.isAlive()) {
                throw boundElsewhere(found);
            }
            Batch batch = batch();
            if (batch != null && !mine) {
                batch.finishIfAbandoned();
            }
            // Nothing but a batch lasts longer than a method.
            if (hasBoundCalls()) {
                throw new IllegalStateException(found + " has a batch open on " + this + "; call "
                        + Objects.requireNonNull(batch).ending() + " first");
            }
        }
        BOUND.compareAndSet(this, found, next);
    }

    /** The thread that this is bound to, or null. */
    final @Nullable Thread boundThread() {
        return (Thread) BOUND.getVolatile(this);
    }

    private boolean hasBoundCalls() {
        return (int) CALLS.getVolatile(this) != 0;
    }

    /** Whether the calling thread is in a call that counts as one of the bound thread. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    final boolean isInBoundCall() {
        return bound == Thread.currentThread() && calls != 0;
    }

    /**
     * Begins a call of the data path that uses the native object. {@link #exitData} must follow.
     *
     * @return how many calls of the bound thread were in progress before, or a negative number if this call is not counted as
     *     one of them
     * @throws WrongThreadException when this is bound to another thread, or the arena is confined to one
     * @throws IllegalStateException when this is closed
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    final int enterData() {
        Thread found = bound;
        if (found != null) {
            if (AsymmetricBarrier.AVAILABLE && found == Thread.currentThread()) {
                int before = calls;
                CALLS.setOpaque(this, before + 1);
                // The barrier of a closing stands between this store and this load.
                if (isOpenOpaque()) {
                    return before;
                }
                exitData(before);
                throw alreadyClosed();
            }
            checkBinding();
        }
        enter();
        return COUNTED_ATOMICALLY;
    }

    /**
     * Ends what {@link #enterData} began, in the same method: then there are as many calls as before, and to load the number
     * that has just been stored takes time.
     *
     * @param before what that has returned
     */
    final void exitData(int before) {
        if (before >= 0) {
            // What the call did comes before the destruction of the object, which follows a load of zero.
            CALLS.setRelease(this, before);
        } else {
            exit();
        }
    }

    /**
     * Ends what {@link #enterData} began in another method: in the same thread, or in another one after that has terminated.
     *
     * @param ofBoundThread whether that has returned a number of calls of the bound thread
     */
    final void exitLongCall(boolean ofBoundThread) {
        if (ofBoundThread) {
            // As above.
            CALLS.setRelease(this, calls - 1);
        } else {
            exit();
        }
    }

    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private void checkBinding() {
        Thread found = boundThread();
        if (found != null && found != Thread.currentThread()) {
            throw boundElsewhere(found);
        }
    }

    /** Returns false also while the bound thread is about to be refused. */
    @Override
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    boolean shut() {
        boolean noneCounted = super.shut();
        if (!callsSeen) {
            Thread found = boundThread();
            if (AsymmetricBarrier.AVAILABLE && found != null && found != Thread.currentThread()) {
                AsymmetricBarrier.run(found);
            }
            callsSeen = true;
        }
        return noneCounted && !hasBoundCalls();
    }

    private WrongThreadException boundElsewhere(Thread thread) {
        String cure = thread.isAlive()
                ? "call it there, or let that thread call unbindFromThread and this one bindToThread"
                : "that thread has terminated: call bindToThread to take over";
        return new WrongThreadException(
                this + " is bound to " + thread + " and was called by " + Thread.currentThread() + "; " + cure);
    }
}
