package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Which thread may use an extended queue now. From the start of a batch to its end a driver may hold a lock of its own: a
 * second call into it would wait for ever if the same thread made it, and if it waited in a critical call, no safepoint
 * would come until the first thread was through. So no second call is let in: while a batch is open, it is refused.
 *
 * <p>A thread that needs several queues at once takes all or none, and waits with none taken, nor with the arena's lock. It
 * marks those that it waits for ({@link #want}): a thread that has no batch open then begins nothing on them, so that the
 * mark is honoured soon; one that has goes on, since its batch may be what is waited for.
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

    /**
     * Added to all: a thread waits for this. A release may lose it, because one that finds nothing unusual just writes; so
     * the thread that waits sets it anew each time it looks.
     */
    private static final int WANTED = 8;

    private static final int USE = 3;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Batch.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final ContextObject queue;
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

    Batch(ContextObject queue, String ending, Start start) {
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
                    release(OPEN);
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
        return ((seen & USE) == OPEN || (seen & PAUSED) != 0) && thread == opener;
    }

    /** Ends what {@link #open} began. */
    void end() {
        if (paused) {
            paused = false;
            thread = null;
            // The driver may be clearing the queue at this moment, for another thread.
            STATE.getAndBitwiseAnd(this, ~PAUSED);
        } else {
            release(OPEN);
        }
        queue.exit();
    }

    /** As {@link #end}, and lets no further batch begin. */
    void endForGood() {
        thread = null;
        STATE.setRelease(this, SHUT);
        queue.exit();
    }

    private void release(int use) {
        thread = null;
        if ((int) STATE.getOpaque(this) == use) {
            STATE.setRelease(this, FREE);
        } else {
            STATE.getAndBitwiseAnd(this, WANTED);
        }
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
     * @throws IllegalStateException when the queue is closed
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
     * Begins a call that must not fall into a batch.
     *
     * @throws IllegalStateException when a batch is open, or the queue is closed
     */
    void beginCall() {
        take(CALL);
    }

    /** Ends what {@link #beginCall} began. */
    void endCall() {
        release(CALL);
    }

    /** Begins a call in which the driver may clear the queue, and does not wait: false when it cannot begin now. */
    boolean tryBeginClearing() {
        return change(FREE, CALL) || change(PAUSED, PAUSED | CALL);
    }

    /** Ends what {@link #tryBeginClearing} began. */
    void endClearing() {
        STATE.getAndBitwiseAnd(this, PAUSED | WANTED);
    }

    /** The calling thread waits for this, until {@link #unwant}. */
    void want() {
        STATE.getAndBitwiseOr(this, WANTED);
    }

    /** The calling thread waits no longer. Another one that does sets the mark anew. */
    void unwant() {
        STATE.getAndBitwiseAnd(this, ~WANTED);
    }

    /** Whether a thread waits for this. */
    boolean isWanted() {
        return ((int) STATE.getVolatile(this) & WANTED) != 0;
    }

    /** Whether a batch is open, and not paused. */
    boolean isOpen() {
        return ((int) STATE.getVolatile(this) & USE) == OPEN;
    }

    /** From one state to another, with the mark or without it. */
    private boolean change(int from, int to) {
        return STATE.compareAndSet(this, from, to) || STATE.compareAndSet(this, from | WANTED, to | WANTED);
    }

    private void take(int use) {
        if (confined && state == FREE) {
            state = use;
        } else if (!STATE.compareAndSet(this, FREE, use)) {
            takeLater(use);
        }
    }

    private void takeLater(int use) {
        try (BatchWait wait = new BatchWait(queue.arena)) {
            while (!STATE.compareAndSet(this, FREE, use)) {
                int seen = (int) STATE.getVolatile(this);
                if ((seen & USE) == OPEN || (seen & PAUSED) != 0) {
                    throw new IllegalStateException("a batch is open on " + queue + ": call " + ending
                            + " first, and let one thread at a time use the queue");
                }
                if (seen == WANTED && wait.isInABatch() && STATE.compareAndSet(this, seen, use | WANTED)) {
                    return;
                }
                awaitOthers(wait);
            }
        }
    }

    /** A moment for another thread's call, or for one that closes. */
    private void awaitOthers(BatchWait wait) {
        if (!queue.isOpen()) {
            throw new IllegalStateException(queue + " is closed");
        }
        // The thread that closes would wait for itself.
        if (((int) STATE.getVolatile(this) & USE) == SHUT && queue.arena.lock().isHeldByCurrentThread()) {
            throw new IllegalStateException(queue + " is about to close");
        }
        wait.pause();
    }

    /**
     * For a closing: lets no further batch begin until {@link #unhold}, and does not wait. A batch of the calling thread
     * that is not paused is left open: its queue ends it before it goes. With the arena's lock held.
     *
     * @return false while another thread uses the queue
     */
    boolean tryHold() {
        int seen = (int) STATE.getVolatile(this);
        int marks = seen & ~USE;
        boolean held = (seen & USE) == SHUT
                || ((seen & USE) == FREE && STATE.compareAndSet(this, seen, marks | SHUT))
                || ((seen & USE) == OPEN && isMine());
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
        if (holds == 0 && ((int) STATE.getVolatile(this) & USE) == SHUT) {
            STATE.getAndBitwiseAnd(this, ~USE);
        }
    }

    /** What ends a batch, in the words of a message. */
    String ending() {
        return ending;
    }

    /** The queue, for messages. */
    @Override
    public String toString() {
        return queue.toString();
    }
}
