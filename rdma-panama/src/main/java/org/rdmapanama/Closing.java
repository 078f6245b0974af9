package org.rdmapanama;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.ShortWait;

/**
 * One closing of a tree of objects. It first waits until no other thread uses the objects and then destroys each object
 * once. A failure on the way does not stop the rest.
 *
 * <p>It holds the arena's lock, but releases the lock and all queues while it waits, because the awaited thread may
 * need them in order to finish. So several closings of one arena may be in progress, and the tree may change meanwhile;
 * each closing examines the whole tree again after a wait.
 */
final class Closing {
    private final VerbsArena arena;
    private final Set<Batch> held = new LinkedHashSet<>();
    private final WantedQueues wanted;
    private final Set<VerbsObject> begun = Collections.newSetFromMap(new IdentityHashMap<>());

    /** An object on which a call is in progress, found while examining the tree. */
    private @Nullable VerbsObject busyObject;

    /** Whether the tree accepts no further calls. */
    private boolean shut;

    /** Whether this look at the whole tree has found a queue in use. */
    private boolean looked;

    /** Whether a call was in progress when the tree was shut, and since when this waits for it. */
    private boolean waits;

    private long busySince;

    private @Nullable VerbsException failure;

    Closing(VerbsArena arena) {
        this.arena = arena;
        wanted = new WantedQueues(arena.waitLimits());
    }

    /** All objects of the tree at this moment; some may occur more than once. */
    @FunctionalInterface
    interface Tree {
        void forEach(Consumer<VerbsObject> visitor);
    }

    /**
     * Waits until no other thread has a batch open on the objects to close, or on the queues that the driver clears for
     * them, for at most two seconds each, and until no call on them is in progress, for at most ten seconds. From then
     * until {@link #release} none can begin.
     *
     * @param committed called once the closing is irrevocable, before further calls are refused
     * @throws IllegalStateException when a batch did not end; nothing is closed then
     * @throws VerbsException when a call did not end; the tree is shut then, and can be closed again
     */
    void await(Tree tree, Runnable committed) {
        // As it nearly always is.
        if (holdsAll(tree) && isShut(tree, committed)) {
            return;
        }
        try (BatchWait batches = new BatchWait(arena);
                ShortWait calls = new ShortWait()) {
            while (true) {
                boolean holdsAll = holdsAll(tree);
                if ((holdsAll || shut) && !isShut(tree, committed)) {
                    checkCall();
                    // Queues that are only cleared stay usable meanwhile.
                    unhold();
                    wanted.unmark();
                    pauseUnlocked(calls::pause);
                } else if (!holdsAll) {
                    checkBatches();
                    wanted.mark();
                    pauseUnlocked(batches::pause);
                } else {
                    return;
                }
            }
        }
    }

    /** Holds all queues, or none. */
    private boolean holdsAll(Tree tree) {
        looked = false;
        tree.forEach(object -> object.holdBatches(this));
        if (!looked) {
            // None is in use, so no time matters; reading the clock takes a system call on some machines.
            wanted.look(0);
        }
        if (wanted.isInUse()) {
            unhold();
        }
        return !wanted.isInUse();
    }

    private boolean isShut(Tree tree, Runnable committed) {
        if (!shut) {
            shut = true;
            committed.run();
        }
        busyObject = null;
        tree.forEach(object -> {
            if (!object.shut()) {
                busyObject = object;
            }
        });
        if (busyObject != null && !waits) {
            waits = true;
            busySince = System.nanoTime();
        }
        return busyObject == null;
    }

    private void checkBatches() {
        Batch queue = wanted.withEndlessBatch();
        if (queue != null) {
            fail(queue, "batch open on it; it must call " + queue.ending() + " first");
        }
        queue = wanted.withEndlessCall();
        if (queue != null) {
            fail(
                    queue,
                    "call in progress that takes more than "
                            + arena.waitLimits().call().toSeconds() + " seconds");
        }
    }

    private void fail(Batch queue, String with) {
        String what = queue + " cannot be closed because another thread has a " + with;
        if (!shut) {
            throw new IllegalStateException(what);
        }
        throw new VerbsException("close", Errno.EBUSY, what, "close it again");
    }

    private void checkCall() {
        if (System.nanoTime() - busySince > arena.waitLimits().call().toNanos()) {
            VerbsObject busy = Objects.requireNonNull(busyObject);
            throw new VerbsException(
                    busy.destroyVerb(),
                    Errno.EBUSY,
                    busy.toString(),
                    "a call on it is in progress in another thread; close it again when that call has returned");
        }
    }

    private void pauseUnlocked(Runnable pause) {
        arena.lock().unlock();
        try {
            pause.run();
        } finally {
            arena.lock().lock();
        }
    }

    /**
     * Whether no call on an object is in progress. Within the tree none is, or {@link #await} would have failed. For an
     * object outside of it, such as a memory window that keeps its region from being deregistered, this waits with the
     * arena's lock held, because a call on it can finish without that lock.
     */
    boolean isShut(VerbsObject object) {
        boolean isShut = object.shut();
        if (isShut) {
            return true;
        }
        try (ShortWait wait = new ShortWait()) {
            while (!isShut && wait.nanos() < arena.waitLimits().call().toNanos()) {
                wait.pause();
                isShut = object.shut();
            }
        }
        return isShut;
    }

    /** Holds a queue until {@link #release}, or records that another thread uses it. */
    void hold(Batch batch) {
        if (!held.contains(batch)) {
            if (batch.tryHold()) {
                add(batch);
            } else {
                found(batch, batch.isOpen());
            }
        }
    }

    private void found(Batch batch, boolean inABatch) {
        if (!looked) {
            looked = true;
            wanted.look(System.nanoTime());
        }
        wanted.found(batch, inABatch);
    }

    /** Remembers a queue that is held. A lack of memory must not leave it shut when nobody will release it. */
    private void add(Batch batch) {
        boolean added = false;
        try {
            added = held.add(batch);
        } finally {
            if (!added) {
                // A set that cannot grow may have the element all the same.
                held.remove(batch);
                batch.unhold();
            }
        }
    }

    /** Like {@link #hold}, for a queue that will be destroyed. */
    void holdForGood(Batch batch) {
        hold(batch);
        if (batch.isPaused()) {
            found(batch, true);
        }
    }

    private void unhold() {
        held.forEach(Batch::unhold);
        held.clear();
    }

    /** Releases the queues for other threads. The caller must hold the arena's lock. */
    void release() {
        unhold();
        wanted.close();
    }

    /** Whether this is the first attempt to destroy an object in this closing. */
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

    /** The first failure, with the others as suppressed exceptions, or null. */
    @Nullable
    VerbsException failure() {
        return failure;
    }

    void throwFailure() {
        if (failure != null) {
            throw failure;
        }
    }
}
