package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.AsymmetricBarrier;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.ShortWait;

/**
 * Tracks which thread may use an extended queue now. From the start of a batch to its end a driver may hold its own
 * lock. A second call into the driver would wait forever if the same thread made it; if it waited in a critical call,
 * it would hold off safepoints until the first thread was done. So a second call is refused while a batch is open.
 *
 * <p>A thread that needs several queues at once takes all or none, and while it waits it holds none of them and not the
 * arena's lock. It marks the queues that it waits for ({@link #want}). A thread without an open batch then starts
 * nothing on them, so that the wait is short. A thread with an open batch gives way only for a few milliseconds,
 * because the wait may be for its batch.
 *
 * <p>Usually a thread takes the queue by an atomic change of the state. The thread that the queue is bound to claims it by a
 * plain store instead: it stores that it uses the queue, and then looks whether the state says that it is free; if not, it
 * takes back its claim, and waits as others do. All others change the state, make all threads execute a memory barrier, and
 * then look for a claim; if there is one, they change the state back. So at least one of the two sees the other, as {@link
 * QueueObject} explains. Nobody else writes the claim. It lasts until the use ends, or is moved to the state first ({@link
 * #moveClaim}) by a batch that is paused or ends for good.
 */
final class Batch {
    private static final int FREE = 0;
    /** A call that begins and ends the use of the queue by itself, such as posting a chain. */
    private static final int CALL = 1;

    private static final int OPEN = 2;

    /** This queue, or an object whose end makes the driver clear it, is closing. This state is short. */
    private static final int SHUT = 3;

    /**
     * A flag added to {@link #FREE}, {@link #CALL} and {@link #SHUT}: a batch is open, but its thread has released the
     * driver's lock, so that the driver may clear the queue.
     */
    private static final int PAUSED = 4;

    /**
     * A flag added to every state: a thread waits for this queue. A release may lose the flag, because in the usual
     * case it just writes the state; so the waiting thread sets the flag again each time it looks.
     */
    private static final int WANTED = 8;

    private static final int USE = 3;

    private static final VarHandle STATE;
    private static final VarHandle CLAIM;

    /** Only for what two threads may do at the same time. */
    private static final VarHandle THREAD;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Batch.class, "state", int.class);
            CLAIM = MethodHandles.lookup().findVarHandle(Batch.class, "claim", int.class);
            THREAD = MethodHandles.lookup().findVarHandle(Batch.class, "thread", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final QueueObject queue;
    private final Start start;
    private final Runnable finish;

    /** The call that ends a batch, for messages. */
    private final String ending;

    /** Whether the arena is confined, so that other threads never get here. */
    private final boolean confined;

    /** Accessed mostly through STATE. */
    private int state;

    /**
     * {@link #OPEN} or {@link #CALL} while the bound thread uses the queue without having changed the state, or tries to.
     * Written only by that thread, in a call that {@link QueueObject#enterData} counts as one of the bound thread, or by
     * whoever ends its batch after it has terminated. So the binding does not change meanwhile.
     */
    private int claim;

    /** The thread that has a batch open; null from when another one ends a batch that this one has left open. */
    private @Nullable Thread thread;

    /** Whether the call that lasts as long as the batch is counted as one of the bound thread: see {@link QueueObject#enterData}. */
    private boolean counted;

    /** Whether the batch is paused. Used only by the thread of the batch. */
    private boolean paused;

    /** The thread in whose call the driver may clear the queue now. */
    private @Nullable Thread clearing;

    /** The number of closings that keep this shut. Guarded by the arena's lock. */
    private int holds;

    /** The native call that starts a batch. It returns false or throws if no batch is open afterwards. */
    @FunctionalInterface
    interface Start {
        boolean start();
    }

    /**
     * Creates the state of the batches of a queue.
     *
     * @param ending the call that ends a batch, for messages
     * @param finish ends the batch of another thread that has terminated
     */
    Batch(QueueObject queue, String ending, Start start, Runnable finish) {
        this.queue = queue;
        this.ending = ending;
        this.start = start;
        this.finish = finish;
        confined = queue.arena.owner() != null;
    }

    /**
     * Opens a batch. The queue stays entered until {@link #end}, so that it cannot be closed meanwhile.
     *
     * @return whether a batch is open now
     * @throws IllegalStateException when a live thread has a batch open, or the queue is closed
     */
    boolean open() {
        boolean call = queue.enterData() >= 0;
        boolean taken = false;
        boolean started = false;
        try {
            take(OPEN, call);
            taken = true;
            thread = Thread.currentThread();
            counted = call;
            started = start.start();
            return started;
        } finally {
            if (!started) {
                if (taken) {
                    release(OPEN, call);
                }
                queue.exitLongCall(call);
            }
        }
    }

    /**
     * Whether the calling thread has a batch open. Only a thread itself writes its identity here, and nothing writes it
     * between start and end of the batch; so this read needs no memory ordering.
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    boolean isMine() {
        return thread == Thread.currentThread();
    }

    /**
     * Ends a batch that a terminated thread has left open. Takes no lock, because a closing that holds the arena's lock may
     * be waiting for the calling thread.
     *
     * @return whether this call has ended one; another thread may be about to end it
     */
    boolean finishIfAbandoned() {
        Thread opener = thread;
        // An ended thread does nothing more: if it had ended its batch, that would be seen by now. Of two threads that
        // find the batch at the same time, one ends it.
        if (opener == null || opener.isAlive() || !THREAD.compareAndSet(this, opener, null)) {
            return false;
        }
        boolean finished = false;
        try {
            // A failure to log must not leave the batch open and without a thread: all others would wait forever.
            Log.LOGGER.warn(
                    "{} left a batch open on {} when it ended: call {} in a finally block", opener, queue, ending);
            finish.run();
            finished = true;
        } finally {
            if (!finished) {
                THREAD.setRelease(this, opener);
            }
        }
        return true;
    }

    /**
     * Ends what {@link #open} began.
     *
     * @throws IllegalStateException when the calling thread is in a call that clears the queue
     */
    void end() {
        // Once this is released, another thread may open a batch.
        boolean call = counted;
        if (paused) {
            checkNotClearing();
            paused = false;
            thread = null;
            // The driver may be clearing the queue at this moment, for another thread: that goes on.
            STATE.getAndBitwiseAnd(this, ~PAUSED);
        } else {
            release(OPEN, call);
        }
        queue.exitLongCall(call);
    }

    /** Like {@link #end}, and prevents further batches. */
    void endForGood() {
        moveClaim();
        thread = null;
        STATE.setRelease(this, SHUT);
        queue.exitLongCall(counted);
    }

    /**
     * Ends a use.
     *
     * @param mayBeClaimed whether the use began in a call that counts as one of the bound thread
     */
    private void release(int use, boolean mayBeClaimed) {
        thread = null;
        if (mayBeClaimed && claim == use) {
            CLAIM.setRelease(this, FREE);
        } else if ((int) STATE.getOpaque(this) == use) {
            STATE.setRelease(this, FREE);
        } else {
            STATE.getAndBitwiseAnd(this, WANTED);
        }
    }

    /**
     * Records that the calling thread, whose batch is open, has released the driver's lock, so that the queue may be
     * cleared.
     */
    void pause() {
        if (!paused) {
            moveClaim();
            paused = true;
            STATE.setRelease(this, PAUSED);
        }
    }

    /** Makes the state say that the batch of the calling thread is open, if so far only the claim does. */
    private void moveClaim() {
        if (counted && claim == OPEN) {
            // Another thread that has changed the state meanwhile finds the claim, and changes it back.
            try (ShortWait wait = new ShortWait()) {
                while (!change(FREE, OPEN)) {
                    wait.pause();
                }
            }
            CLAIM.setRelease(this, FREE);
        }
    }

    /**
     * Resumes the batch of the calling thread before it calls the driver again.
     *
     * @throws IllegalStateException when the queue is closed, or the calling thread is in a call that clears it
     */
    void resume() {
        if (paused) {
            try (BatchWait wait = new BatchWait(queue.arena)) {
                while (!change(PAUSED, OPEN)) {
                    awaitOthers(wait);
                }
            }
            paused = false;
        }
    }

    /**
     * Begins a call that must not overlap a batch.
     *
     * @throws IllegalStateException when a batch is open, or the queue is closed
     */
    void beginCall() {
        take(CALL, queue.isInBoundCall());
    }

    /** Ends what {@link #beginCall} began. */
    void endCall() {
        release(CALL, queue.isInBoundCall());
    }

    /**
     * Begins a call in which the driver may clear the queue. Does not wait: returns false if it cannot begin now. A paused
     * batch may belong to the calling thread; it can neither go on nor end during the call.
     */
    boolean tryBeginClearing() {
        boolean begun = tryTake(FREE, CALL) || tryTake(WANTED, WANTED | CALL) || change(PAUSED, PAUSED | CALL);
        if (begun) {
            clearing = Thread.currentThread();
        }
        return begun;
    }

    /**
     * A call that clears the queue may call back into the program, for example to allocate memory. A use of the queue
     * there would wait forever for the outer call.
     *
     * @throws IllegalStateException when the calling thread is in such a call
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    void checkNotClearing() {
        if (clearing == Thread.currentThread()) {
            throw new IllegalStateException(
                    queue + " is in use by a call of this thread that has not returned; an allocator must not"
                            + " use the queues of the object that it allocates memory for");
        }
    }

    /** Ends what {@link #tryBeginClearing} began. */
    void endClearing() {
        clearing = null;
        STATE.getAndBitwiseAnd(this, PAUSED | WANTED);
    }

    /** Marks that the calling thread waits for this queue, until {@link #unwant}. */
    void want() {
        STATE.getAndBitwiseOr(this, WANTED);
    }

    /** Removes the mark of the calling thread. Another thread that still waits sets it again. */
    void unwant() {
        STATE.getAndBitwiseAnd(this, ~WANTED);
    }

    /** Whether a thread waits for this. */
    boolean isWanted() {
        return ((int) STATE.getVolatile(this) & WANTED) != 0;
    }

    /** Whether a call or an unpaused batch is in progress, or this is shut. */
    boolean isInUse() {
        return (int) CLAIM.getVolatile(this) != FREE || ((int) STATE.getVolatile(this) & USE) != FREE;
    }

    /** Whether a batch is open, and not paused. */
    boolean isOpen() {
        return (int) CLAIM.getVolatile(this) == OPEN || ((int) STATE.getVolatile(this) & USE) == OPEN;
    }

    /** Moves from one state to another, with the mark or without it. */
    private boolean change(int from, int to) {
        return STATE.compareAndSet(this, from, to) || STATE.compareAndSet(this, from | WANTED, to | WANTED);
    }

    /**
     * Begins a use.
     *
     * @param byBoundThread whether the calling thread is in a call that counts as one of the bound thread
     */
    private void take(int use, boolean byBoundThread) {
        if (confined && state == FREE) {
            state = use;
        } else if (!(byBoundThread && tryClaim(use)) && !tryTake(FREE, use)) {
            takeLater(use);
        }
    }

    /** Takes this for the bound thread if the state says that it is free. */
    private boolean tryClaim(int use) {
        if (claim != FREE) {
            return false;
        }
        CLAIM.setOpaque(this, use);
        // The barrier of tryTake stands between this store and this load.
        if ((int) STATE.getAcquire(this) == FREE) {
            return true;
        }
        CLAIM.setRelease(this, FREE);
        return false;
    }

    /** Takes this by a change of the state, unless the bound thread has claimed it. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    private boolean tryTake(int from, int to) {
        if (!STATE.compareAndSet(this, from, to)) {
            return false;
        }
        Thread bound = queue.boundThread();
        if (bound == null) {
            return true;
        }
        boolean taken = false;
        try {
            if (bound != Thread.currentThread() && AsymmetricBarrier.AVAILABLE) {
                AsymmetricBarrier.run(bound);
            }
            taken = (int) CLAIM.getVolatile(this) == FREE;
        } finally {
            // Also where the barrier fails, for lack of memory or of stack: nobody else would change it back.
            if (!taken) {
                STATE.getAndBitwiseAnd(this, ~USE);
            }
        }
        return taken;
    }

    private void takeLater(int use) {
        try (BatchWait wait = new BatchWait(queue.arena)) {
            while (!tryTake(FREE, use)) {
                if (!finishIfAbandoned() && isInABatch()) {
                    throw new IllegalStateException("a batch is open on " + queue + "; call " + ending
                            + " first, and use the queue in one thread at a time");
                }
                int seen = (int) STATE.getVolatile(this);
                if (seen == WANTED && wait.hasGivenWay() && tryTake(seen, use | WANTED)) {
                    return;
                }
                awaitOthers(wait);
            }
        }
    }

    /** Whether a thread has a batch open, and neither begins nor ends it at this moment. */
    private boolean isInABatch() {
        return (isOpen() || isPaused()) && thread != null;
    }

    /** A moment for another thread's call, or for one that closes. */
    private void awaitOthers(BatchWait wait) {
        if (!queue.isOpen()) {
            throw new IllegalStateException(queue + " is closed");
        }
        // The closing thread would wait for itself.
        if (((int) STATE.getVolatile(this) & USE) == SHUT && queue.arena.lock().isHeldByCurrentThread()) {
            throw new IllegalStateException(queue + " is being closed");
        }
        checkNotClearing();
        wait.pause();
    }

    /**
     * Prevents further batches until {@link #unhold}, for a closing. Does not wait. An unpaused batch of the calling
     * thread stays open; its queue ends it before it is destroyed. The caller must hold the arena's lock.
     *
     * @return false while another thread uses the queue
     */
    boolean tryHold() {
        int seen = (int) STATE.getVolatile(this);
        int marks = seen & ~USE;
        boolean held =
                (seen & USE) == SHUT || (isMine() && isOpen()) || ((seen & USE) == FREE && tryTake(seen, marks | SHUT));
        if (held) {
            holds++;
        }
        return held;
    }

    /** Whether a batch is open that lets the driver clear the queue, but not destroy it. */
    boolean isPaused() {
        return ((int) STATE.getVolatile(this) & PAUSED) != 0;
    }

    /** Undoes {@link #tryHold}. The caller must hold the arena's lock. */
    void unhold() {
        holds--;
        if (holds == 0 && ((int) STATE.getVolatile(this) & USE) == SHUT) {
            STATE.getAndBitwiseAnd(this, ~USE);
        }
    }

    /** The call that ends a batch, for messages. */
    String ending() {
        return ending;
    }

    /** The queue, for messages. */
    @Override
    public String toString() {
        return queue.toString();
    }
}
