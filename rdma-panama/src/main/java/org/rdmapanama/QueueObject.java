package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An object that work is posted to, or completions are taken from. It can be bound to one thread.
 *
 * <p>In a shared arena a call must be known to a thread that closes, because the native object must not be destroyed
 * during the call. Any thread can count its calls by two atomic additions ({@link VerbsObject#enter}). The thread that this
 * is bound to counts those of the data path by plain stores to its own {@link ThreadCalls} instead. Both ways may be in use
 * at the same time; the calls in progress are those of both.
 *
 * <ul>
 *   <li><b>The bound thread</b> stores that it is in a call, and then looks whether its {@code ThreadCalls} have ended.
 *   <li><b>Whoever ends them</b> stores that, makes all threads execute a memory barrier, and then looks for a call. So at
 *       least one of the two sees the other. The bound thread pays for no barrier; the price is paid where a binding ends.
 *       See {@link org.rdmapanama.ffm.internal.AsymmetricBarrier}.
 *   <li><b>Ended is ended.</b> A new binding has new {@code ThreadCalls}, and replaces only those that have ended without a
 *       call in progress. So a thread that takes a late look at old ones does no harm.
 *   <li><b>Closing</b> ({@link #shut}) first refuses what is counted atomically, and then ends the {@code ThreadCalls} that it finds. A
 *       thread that binds this installs its own first and then looks whether this is closed. Both have a full barrier in
 *       between. {@link Closing} waits for the calls in progress, for ten seconds at most.
 *   <li><b>Other threads</b> look for a binding before they count. One that counts while the object is being bound is as
 *       safe as without binding; only its next call is refused.
 *   <li><b>A bound thread that has terminated</b> is in no call, so that another one may bind this, or unbind it. A batch
 *       that it left open is a call in progress, and is ended first ({@link Batch#finishIfAbandoned}).
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
    private static final VarHandle CALLER;

    static {
        try {
            CALLER = MethodHandles.lookup().findVarHandle(QueueObject.class, "caller", ThreadCalls.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Those of the thread that this is bound to; null if it is not bound. */
    private ThreadCalls caller;

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
            ThreadCalls found = caller();
            while (found == null || found.thread != me) {
                replace(found, new ThreadCalls(me));
                found = caller();
            }
            if (!isOpen()) {
                // It was closed meanwhile, perhaps without a look at these.
                found.end();
                throw alreadyClosed();
            }
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
        ThreadCalls found = caller();
        if (found != null) {
            replace(found, null);
        }
    }

    /** Does nothing if another thread has replaced them already. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private void replace(ThreadCalls found, ThreadCalls next) {
        if (found != null) {
            boolean mine = found.thread == Thread.currentThread();
            if (!mine && found.thread.isAlive()) {
                throw boundElsewhere(found.thread);
            }
            Batch batch = batch();
            if (batch != null && !mine) {
                batch.finishIfAbandoned();
            }
            // Nothing but a batch lasts longer than a method.
            if (found.isInside()) {
                throw new IllegalStateException(
                        found.thread + " has a batch open on " + this + "; call " + batch.ending() + " first");
            }
            found.end();
        }
        CALLER.compareAndSet(this, found, next);
    }

    private ThreadCalls caller() {
        return (ThreadCalls) CALLER.getVolatile(this);
    }

    /**
     * Begins a call of the data path that uses the native object. {@link #exitData} must follow.
     *
     * @return what counts the call, for {@link #exitData}; null if {@link #enter} does, as it does for an object that is not
     *     bound
     * @throws WrongThreadException when this is bound to another thread, or the arena is confined to one
     * @throws IllegalStateException when this is closed
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    final ThreadCalls enterData() {
        ThreadCalls mine = caller;
        if (mine != null) {
            if (mine.thread == Thread.currentThread() && mine.tryEnter()) {
                return mine;
            }
            checkBinding();
        }
        enter();
        return null;
    }

    /** Ends what {@link #enterData} began: in the same thread, or in another one after that has terminated. */
    final void exitData(ThreadCalls counted) {
        if (counted != null) {
            counted.exit();
        } else {
            exit();
        }
    }

    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private void checkBinding() {
        ThreadCalls found = caller();
        if (found != null && found.thread != Thread.currentThread()) {
            throw boundElsewhere(found.thread);
        }
    }

    @Override
    boolean shut() {
        boolean noneCounted = super.shut();
        ThreadCalls found = caller();
        return (found == null || found.end()) && noneCounted;
    }

    private WrongThreadException boundElsewhere(Thread thread) {
        String cure = thread.isAlive()
                ? "call it there, or let that thread call unbindFromThread and this one bindToThread"
                : "that thread has terminated: call bindToThread to take over";
        return new WrongThreadException(
                this + " is bound to " + thread + " and was called by " + Thread.currentThread() + "; " + cure);
    }
}
