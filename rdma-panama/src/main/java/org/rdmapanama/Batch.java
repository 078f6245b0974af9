package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Who may use an extended queue now. From the start of a batch to its end a driver may hold a lock of its own: a second
 * call into it would wait for ever if the same thread made it, and if it waited in a critical call, no safepoint would
 * come until the first thread was through. So no second call is let in: while a batch is open, it is refused.
 */
final class Batch {
    private static final int FREE = 0;
    /** A call that begins and ends the use of the queue by itself, such as posting a chain. */
    private static final int CALL = 1;

    private static final int OPEN = 2;

    /** This, or something that makes the driver clear it, is closing: not for long. Only with the arena's lock held. */
    private static final int SHUT = 3;

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** Less than {@link #LIMIT_NANOS}, so that who has another batch open can end it for the thread that closes. */
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

    /** Who has it open. */
    private Thread thread;

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
     * Whether the calling thread has a batch open. No other one writes its name here, and none at all writes between its
     * start and its end: it needs no order to see that right.
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
        return (int) STATE.getAcquire(this) == OPEN && thread == opener;
    }

    /** Ends what {@link #open} began. */
    void end() {
        release(FREE);
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

    /**
     * Begins a call that must not fall into a batch.
     *
     * @throws IllegalStateException when a batch is open, or the queue is closed
     */
    void beginCall() {
        take(CALL);
    }

    /** As {@link #beginCall}, but does not wait: false when the call cannot begin now. */
    boolean tryCall() {
        return STATE.compareAndSet(this, FREE, CALL);
    }

    /** Ends what {@link #beginCall} or {@link #tryCall} began. */
    void endCall() {
        release(FREE);
    }

    /**
     * A moment after {@link #tryCall} failed, for who tries again. Waits at most two seconds for a batch of another
     * thread to end.
     *
     * @param start when it failed first, as System.nanoTime() says
     * @throws IllegalStateException when it did not end, or the queue is closed
     */
    void awaitTurn(long start) {
        int seen = (int) STATE.getVolatile(this);
        if (seen == SHUT) {
            checkGoesOn(start);
        } else if (seen == OPEN && System.nanoTime() - start > LIMIT_NANOS) {
            throw new IllegalStateException(
                    "another thread has a batch open on " + queue + ": it is to call " + ending + " first");
        }
        LockSupport.parkNanos(1_000);
    }

    private void take(int wanted) {
        if (confined && state == FREE) {
            state = wanted;
        } else if (!STATE.compareAndSet(this, FREE, wanted)) {
            takeLater(wanted);
        }
    }

    private void takeLater(int wanted) {
        long start = System.nanoTime();
        while (!STATE.compareAndSet(this, FREE, wanted)) {
            switch ((int) STATE.getVolatile(this)) {
                case OPEN ->
                    throw new IllegalStateException("a batch is open on " + queue + ": call " + ending
                            + " first, and let one thread at a time use the queue");
                case SHUT -> {
                    checkGoesOn(start);
                    LockSupport.parkNanos(1_000);
                }
                // Another thread's call, which is short.
                default -> Thread.onSpinWait();
            }
        }
    }

    /** While this is shut: waiting makes sense when it is not this that closes, but something that reports here. */
    private void checkGoesOn(long start) {
        if (!queue.isOpen()) {
            throw new IllegalStateException(queue + " is closed");
        }
        // The thread that closes would wait for itself. While another one waits for batches to end, one of them may be
        // of this thread, on another queue.
        if (queue.arena.lock().isHeldByCurrentThread()
                || (queue.arena.isPreparing() && System.nanoTime() - start > PATIENCE_NANOS)) {
            throw new IllegalStateException(queue + " is about to close");
        }
    }

    /**
     * Lets no further batch begin, and waits at most two seconds for one of another thread to end. One of the calling
     * thread is left open: the queue ends it before it goes.
     *
     * @throws IllegalStateException when it did not end; batches can go on then
     */
    void shut() {
        long start = System.nanoTime();
        while (!STATE.compareAndSet(this, FREE, SHUT)) {
            int seen = (int) STATE.getVolatile(this);
            if (seen == SHUT || isMine()) {
                return;
            }
            if (System.nanoTime() - start > LIMIT_NANOS) {
                throw new IllegalStateException(queue + " cannot be closed: another thread has a batch open on it");
            }
            LockSupport.parkNanos(1_000);
        }
    }

    /** Takes back {@link #shut}, when something else cannot be closed. */
    void reopen() {
        STATE.compareAndSet(this, SHUT, FREE);
    }
}
