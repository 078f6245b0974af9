package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/**
 * Which thread may use an extended queue now. From the start of a batch to its end a driver may hold a lock of its own: a
 * second call into it would wait for ever if the same thread made it, and if it waited in a critical call, no safepoint
 * would come until the first thread was through. So no second call is let in: while a batch is open, it is refused.
 *
 * <p>Waits for other threads give the carrier of a virtual thread back ({@link ShortWait}). No thread waits here while it
 * holds the arena's lock, or another queue that it could give back first.
 */
final class Batch {
    private static final int FREE = 0;
    /** A call that begins and ends the use of the queue by itself, such as posting a chain. */
    private static final int CALL = 1;

    private static final int OPEN = 2;

    /** This queue, or one that makes the driver clear it, is closing: not for long. */
    private static final int SHUT = 3;

    /**
     * Added to {@link #FREE}, {@link #CALL} and {@link #SHUT}: a batch is open, but its thread has let go of the driver's
     * lock, so that the driver may clear the queue.
     */
    private static final int PAUSED = 4;

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Less than a closing waits, so that a thread that has another batch open can end it for the thread that closes. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Batch.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final VerbsObject queue;
    private final Start start;

    /** What ends a batch, in the words of a message. */
    private final String ending;

    /** No other thread gets as far as this. */
    private final boolean confined;

    /** Mostly through STATE. */
    private int state;

    /** The thread that has a batch open. */
    private Thread thread;

    /** Whether the batch is paused. For the thread of the batch. */
    private boolean paused;

    /** How many closings keep this shut. Guarded by the arena's lock. */
    private int holds;

    /** The native call that starts a batch: false, or an exception, when none is open after it. */
    @FunctionalInterface
    interface Start {
        boolean start();
    }

    Batch(VerbsObject queue, String ending, Start start) {
        this.queue = queue;
        this.ending = ending;
        this.start = start;
        confined = queue.arena.owner() != null;
    }

    /**
     * Opens a batch, for which the queue is entered until {@link #end}: nothing may close underneath.
     *
     * @return whether one is open now
     * @throws IllegalStateException when one is open already, or the queue is closed
     */
    boolean open() {
        queue.enter();
        boolean taken = false;
        boolean started = false;
        try {
            take(OPEN);
            taken = true;
            thread = Thread.currentThread();
            started = start.start();
            return started;
        } finally {
            if (!started) {
                if (taken) {
                    release(FREE);
                }
                queue.exit();
            }
        }
    }

    /**
     * Whether the calling thread has a batch open. No other thread writes this one's name here, and none at all writes
     * between its start and its end: it needs no order to see that right.
     */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    boolean isMine() {
        return thread == Thread.currentThread();
    }

    /** Whether a thread that has ended left a batch open. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    boolean isAbandoned() {
        Thread opener = thread;
        if (opener == null || opener.isAlive()) {
            return false;
        }
        // It does nothing more: if it had ended its batch, that would be seen by now.
        int seen = (int) STATE.getAcquire(this);
        return (seen == OPEN || (seen & PAUSED) != 0) && thread == opener;
    }

    /** Ends what {@link #open} began. */
    void end() {
        if (paused) {
            paused = false;
            thread = null;
            // The driver may be clearing the queue at this moment, for another thread.
            STATE.getAndBitwiseAnd(this, ~PAUSED);
        } else {
            release(FREE);
        }
        queue.exit();
    }

    /** As {@link #end}, and lets no further batch begin. */
    void endForGood() {
        release(SHUT);
        queue.exit();
    }

    private void release(int next) {
        thread = null;
        STATE.setRelease(this, next);
    }

    /** The calling thread, whose batch is open, has let go of the driver's lock: others may have the queue cleared. */
    void pause() {
        if (!paused) {
            paused = true;
            STATE.setRelease(this, PAUSED);
        }
    }

    /**
     * The calling thread goes on with its batch, before it calls the driver again.
     *
     * @throws IllegalStateException when the queue is closed, or about to close
     */
    void resume() {
        if (paused) {
            try (ShortWait wait = new ShortWait()) {
                while (!STATE.compareAndSet(this, PAUSED, OPEN)) {
                    awaitOthers(wait);
                }
            }
            paused = false;
        }
    }

    /**
     * Begins a call that must not fall into a batch.
     *
     * @throws IllegalStateException when a batch is open, or the queue is closed
     */
    void beginCall() {
        take(CALL);
    }

    /** Ends what {@link #beginCall} began. */
    void endCall() {
        release(FREE);
    }

    /** Begins a call in which the driver may clear the queue, and does not wait: false when it cannot begin now. */
    boolean tryBeginClearing() {
        return STATE.compareAndSet(this, FREE, CALL) || STATE.compareAndSet(this, PAUSED, PAUSED | CALL);
    }

    /** Ends what {@link #tryBeginClearing} began. */
    void endClearing() {
        STATE.getAndBitwiseAnd(this, PAUSED);
    }

    /**
     * A moment after {@link #tryBeginClearing} failed, for a caller that tries again. Waits at most two seconds for a batch
     * of another thread to end.
     *
     * @param wait from when it failed first
     * @throws IllegalStateException when it did not end, or the queue is closed
     */
    void awaitClearing(ShortWait wait) {
        if ((int) STATE.getVolatile(this) == OPEN && wait.nanos() > LIMIT_NANOS) {
            throw new IllegalStateException(
                    "another thread has a batch open on " + queue + ": it must call " + ending + " first");
        }
        awaitOthers(wait);
    }

    private void take(int wanted) {
        if (confined && state == FREE) {
            state = wanted;
        } else if (!STATE.compareAndSet(this, FREE, wanted)) {
            takeLater(wanted);
        }
    }

    private void takeLater(int wanted) {
        try (ShortWait wait = new ShortWait()) {
            while (!STATE.compareAndSet(this, FREE, wanted)) {
                int seen = (int) STATE.getVolatile(this);
                if (seen == OPEN || (seen & PAUSED) != 0) {
                    throw new IllegalStateException("a batch is open on " + queue + ": call " + ending
                            + " first, and let one thread at a time use the queue");
                }
                awaitOthers(wait);
            }
        }
    }

    /** A moment for another thread's call, or for one that closes. */
    private void awaitOthers(ShortWait wait) {
        if (((int) STATE.getVolatile(this) & SHUT) == SHUT) {
            checkGoesOn(wait);
        }
        wait.pause();
    }

    /** While this is shut: waiting makes sense when it is not this that closes, but something that reports here. */
    private void checkGoesOn(ShortWait wait) {
        if (!queue.isOpen()) {
            throw new IllegalStateException(queue + " is closed");
        }
        // The thread that closes would wait for itself. While another one waits for batches to end, one of them may be
        // of this thread, on another queue.
        if (queue.arena.lock().isHeldByCurrentThread()
                || (queue.arena.isPreparing() && wait.nanos() > PATIENCE_NANOS)) {
            throw new IllegalStateException(queue + " is about to close");
        }
    }

    /**
     * For a closing: lets no further batch begin until {@link #unhold}, and does not wait. A batch of the calling thread
     * that is not paused is left open: its queue ends it before it goes. With the arena's lock held.
     *
     * @return false while another thread uses the queue
     */
    boolean tryHold() {
        int seen = (int) STATE.getVolatile(this);
        int rest = seen & PAUSED;
        boolean held = seen == (rest | SHUT)
                || (seen == rest && STATE.compareAndSet(this, rest, rest | SHUT))
                || (seen == OPEN && isMine());
        if (held) {
            holds++;
        }
        return held;
    }

    /** Whether a batch is open that lets the driver clear the queue, but not destroy it. */
    boolean isPaused() {
        return ((int) STATE.getVolatile(this) & PAUSED) != 0;
    }

    /** Takes back {@link #tryHold}. With the arena's lock held. */
    void unhold() {
        holds--;
        if (holds == 0 && ((int) STATE.getVolatile(this) & SHUT) == SHUT) {
            STATE.getAndBitwiseAnd(this, PAUSED);
        }
    }

    /** The queue, for messages. */
    @Override
    public String toString() {
        return queue.toString();
    }
}
