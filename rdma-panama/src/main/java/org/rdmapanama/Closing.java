package org.rdmapanama;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One closing of a tree of objects: first no other thread may be in the middle of anything, and then each object is ended
 * once, and what fails on the way does not stop the rest.
 *
 * <p>All of it with the arena's lock held, which is let go of while this waits: another thread may need it in order to come
 * to the end of what this waits for. So several closings of one arena may be under way, and the tree may change meanwhile;
 * each looks through all of it again after it has waited.
 */
final class Closing {
    private static final long BATCHES_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The longest call of a driver looks for the address of a peer, for about three seconds. */
    private static final long CALLS_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final VerbsArena arena;
    private final Set<Batch> held = new LinkedHashSet<>();
    private final Set<VerbsObject> begun = Collections.newSetFromMap(new IdentityHashMap<>());

    /** What another thread uses, found while looking through the tree. */
    private Object busy;

    /** Whether a call took too long: no other one is waited for. */
    private boolean expired;

    private VerbsException failure;

    Closing(VerbsArena arena) {
        this.arena = arena;
    }

    /** All objects of the tree at this moment; some may come more than once. */
    @FunctionalInterface
    interface Tree {
        void forEach(Consumer<VerbsObject> visitor);
    }

    /**
     * Lets no batch begin on what is to be closed, nor on what the driver clears for it, and waits at most two seconds for
     * those of other threads to end.
     *
     * @throws IllegalStateException when one did not end; call {@link #release} then
     */
    void awaitBatches(Tree tree) {
        arena.beginPreparing();
        try (ShortWait wait = new ShortWait()) {
            while (!isFree(tree, object -> object.holdBatches(this))) {
                if (wait.nanos() > BATCHES_NANOS) {
                    throw new IllegalStateException(busy
                            + " cannot be closed: another thread has a batch open on it, which that thread must end first");
                }
                pauseUnlocked(wait);
            }
        } finally {
            arena.endPreparing();
        }
    }

    /**
     * Lets no further call in and waits for those under way, which are short. What is in use even after ten seconds is not
     * ended: see {@link VerbsObject#closeTree}.
     */
    void awaitCalls(Tree tree) {
        try (ShortWait wait = new ShortWait()) {
            while (!isFree(tree, this::shut)) {
                if (wait.nanos() > CALLS_NANOS) {
                    expired = true;
                    return;
                }
                pauseUnlocked(wait);
            }
        }
    }

    /**
     * Whether no call on an object is under way any more. For one that {@link #awaitCalls} did not know of, such as a memory
     * window that keeps its region from being deregistered, this waits with the arena's lock held: nobody needs that in
     * order to end a call on it.
     */
    boolean isShut(VerbsObject object) {
        if (object.shut()) {
            return true;
        }
        try (ShortWait wait = new ShortWait()) {
            while (!expired && !object.shut()) {
                expired = wait.nanos() > CALLS_NANOS;
                wait.pause();
            }
        }
        return object.shut();
    }

    private boolean isFree(Tree tree, Consumer<VerbsObject> visitor) {
        busy = null;
        tree.forEach(visitor);
        return busy == null;
    }

    private void shut(VerbsObject object) {
        if (!object.shut()) {
            busy = object;
        }
    }

    private void pauseUnlocked(ShortWait wait) {
        arena.lock().unlock();
        try {
            wait.pause();
        } finally {
            arena.lock().lock();
        }
    }

    /** Keeps a queue from being used until {@link #release}, or notes that another thread uses it. */
    void hold(Batch batch) {
        if (!held.contains(batch)) {
            if (batch.tryHold()) {
                held.add(batch);
            } else {
                busy = batch;
            }
        }
    }

    /** As {@link #hold}, of a queue that will be destroyed. */
    void holdForGood(Batch batch) {
        hold(batch);
        if (batch.isPaused()) {
            busy = batch;
        }
    }

    /** Ends what {@link #hold} began. */
    void release() {
        held.forEach(Batch::unhold);
        held.clear();
    }

    /** Whether an object's turn comes now, for the first time. */
    boolean begins(VerbsObject object) {
        return begun.add(object);
    }

    void failed(VerbsException next) {
        if (failure == null) {
            failure = next;
        } else {
            failure.addSuppressed(next);
        }
    }

    /** What failed first, with the rest as suppressed exceptions, or null. */
    VerbsException failure() {
        return failure;
    }

    void throwFailure() {
        if (failure != null) {
            throw failure;
        }
    }
}
