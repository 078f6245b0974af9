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
 * <p>All of it with the arena's lock held, which is let go of while this waits, as are all queues: another thread may need
 * them in order to come to the end of what this waits for. So several closings of one arena may be under way, and the tree
 * may change meanwhile; each looks through all of it again after it has waited.
 */
final class Closing {
    private static final long BATCHES_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The longest call of a driver looks for the address of a peer, for about three seconds. */
    private static final long CALLS_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final VerbsArena arena;
    private final Set<Batch> held = new LinkedHashSet<>();
    private final Set<Batch> wanted = new LinkedHashSet<>();
    private final Set<VerbsObject> begun = Collections.newSetFromMap(new IdentityHashMap<>());

    /** A queue that another thread uses, found while looking through the tree. */
    private Batch busyQueue;

    /** An object on which a call is under way, found in the same way. */
    private VerbsObject busyObject;

    /** Whether the tree lets no call in any more. */
    private boolean shut;

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
     * Waits until no batch of another thread is open on what is to be closed, nor on what the driver clears for it, at most
     * two seconds, and until no call on it is under way any more, at most ten. From then to {@link #release} none can begin.
     *
     * @param committed called once this cannot be taken back any more, before no further call is let in
     * @throws IllegalStateException when a batch did not end: nothing is closed then
     * @throws VerbsException when a call did not end: the tree is shut then, and can be closed again
     */
    void await(Tree tree, Runnable committed) {
        try (BatchWait batches = new BatchWait(arena);
                ShortWait calls = new ShortWait()) {
            while (true) {
                if (!holdsAll(tree)) {
                    checkTime(batches);
                    pauseUnlocked(batches::pause);
                } else if (!isShut(tree, committed)) {
                    checkTime(calls);
                    // What is only cleared stays usable meanwhile.
                    unhold();
                    pauseUnlocked(calls::pause);
                } else {
                    return;
                }
            }
        }
    }

    /** Holds all queues, or marks those that are in use and holds none. */
    private boolean holdsAll(Tree tree) {
        busyQueue = null;
        tree.forEach(object -> object.holdBatches(this));
        if (busyQueue != null) {
            unhold();
        }
        return busyQueue == null;
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
        return busyObject == null;
    }

    private void checkTime(BatchWait wait) {
        boolean open = busyQueue.isOpen() || busyQueue.isPaused();
        if (wait.nanos() > (open ? BATCHES_NANOS : CALLS_NANOS)) {
            String what = busyQueue + " cannot be closed: another thread has a "
                    + (open
                            ? "batch open on it: it must call " + busyQueue.ending() + " first"
                            : "call under way that takes more than ten seconds");
            if (!shut) {
                throw new IllegalStateException(what);
            }
            throw new VerbsException("close", Errno.EBUSY.number, what, "close it again");
        }
    }

    private void checkTime(ShortWait wait) {
        if (wait.nanos() > CALLS_NANOS) {
            throw new VerbsException(
                    busyObject.destroyVerb(),
                    Errno.EBUSY.number,
                    busyObject.toString(),
                    "a call on it is under way in another thread: close it again when that has come back");
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
     * Whether no call on an object is under way any more. In the tree none is, or {@link #await} would have
     * failed; one that is not, such as a memory window that keeps its region from being deregistered, with the arena's lock held: nobody needs that in order to end a
     * call on it.
     */
    boolean isShut(VerbsObject object) {
        boolean isShut = object.shut();
        try (ShortWait wait = new ShortWait()) {
            while (!isShut && wait.nanos() < CALLS_NANOS) {
                wait.pause();
                isShut = object.shut();
            }
        }
        return isShut;
    }

    /** Keeps a queue from being used until {@link #release}, or notes that another thread uses it. */
    void hold(Batch batch) {
        if (!held.contains(batch)) {
            if (batch.tryHold()) {
                held.add(batch);
            } else {
                want(batch);
            }
        }
    }

    /** As {@link #hold}, of a queue that will be destroyed. */
    void holdForGood(Batch batch) {
        hold(batch);
        if (batch.isPaused()) {
            want(batch);
        }
    }

    private void want(Batch batch) {
        busyQueue = batch;
        wanted.add(batch);
        wanted.forEach(Batch::want);
    }

    private void unhold() {
        held.forEach(Batch::unhold);
        held.clear();
    }

    /** Lets other threads use the queues again. With the arena's lock held. */
    void release() {
        unhold();
        wanted.forEach(Batch::unwant);
        wanted.clear();
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
