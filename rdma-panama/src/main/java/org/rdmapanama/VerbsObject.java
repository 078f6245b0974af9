package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * What every verbs object has: a native address, a place in the tree of objects, and an end.
 *
 * <p>An object stands below the objects that it uses, its parents. Closing it closes first whatever stands below it,
 * so no order of closing is wrong.
 */
abstract class VerbsObject implements AutoCloseable {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final VarHandle USERS;

    static {
        try {
            USERS = MethodHandles.lookup().findVarHandle(VerbsObject.class, "users", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final VerbsArena arena;
    final long address;
    private final Thread owner;

    /** Guarded by the arena's lock. */
    private final Set<VerbsObject> parents = new LinkedHashSet<>();

    private final Set<VerbsObject> children = new LinkedHashSet<>();

    /** Calls under way, in a shared arena; the sign bit is set when this is closed. */
    @SuppressWarnings("unused") // through USERS
    private int users;

    /** Guarded by the arena's lock. */
    private boolean destroyed;

    /** Whether somebody else ends the native object. Guarded by the arena's lock. */
    private boolean borrowed;

    /**
     * To be called with the arena's lock held.
     *
     * @param address of the C structure
     */
    VerbsObject(VerbsArena arena, long address, VerbsObject... parents) {
        this.arena = arena;
        this.owner = arena.owner();
        this.address = address;
        for (VerbsObject parent : parents) {
            addParent(parent);
        }
    }

    /** From now on this uses that, too, and ends before it. To be called with the arena's lock held. */
    final void addParent(VerbsObject parent) {
        parents.add(parent);
        parent.children.add(this);
    }

    /** From now on this no longer uses that. To be called with the arena's lock held. */
    final void removeParent(VerbsObject parent) {
        parents.remove(parent);
        parent.children.remove(this);
    }

    /** Calls the verb that ends this object: zero or a negated errno. */
    abstract int destroy();

    /** The C name of the verb behind {@link #destroy}. */
    abstract String destroyVerb();

    /** Among siblings, lower goes first: what can use memory goes before memory regions. */
    abstract int closingOrder();

    /** What this is, for messages: "queue pair 17 of rxe0". */
    @Override
    public abstract String toString();

    /** From now on somebody else ends the native object. */
    final void borrow() {
        borrowed = true;
    }

    final boolean isBorrowed() {
        return borrowed;
    }

    /**
     * Called before anything of the tree that this belongs to is closed, with the arena's lock held: what another
     * thread is in the middle of must be over, or the whole tree stays open.
     *
     * @throws IllegalStateException when something is not over in time
     */
    void prepareToClose() {
        for (VerbsObject child : children) {
            child.prepareToClose();
        }
    }

    /** Takes back {@link #prepareToClose}, because something else in the tree was not ready. */
    void stayOpen() {
        for (VerbsObject child : children) {
            child.stayOpen();
        }
    }

    /** Called once this is closed, whether or not the verb worked. */
    void closed(@SuppressWarnings("unused") boolean destroyed) {}

    /**
     * The address of the C structure behind this object, for native code that this library does not cover. The object
     * keeps owning it.
     *
     * @return the address
     * @throws IllegalStateException when this object is closed
     * @throws WrongThreadException when its arena is confined to another thread
     */
    public final long nativeAddress() {
        checkOpen();
        return address;
    }

    /**
     * Whether this object can still be used.
     *
     * @return false once it, or an object that it depends on, is closed
     */
    public final boolean isOpen() {
        return ((int) USERS.getVolatile(this) & CLOSED) == 0;
    }

    /**
     * Closes this object and, before it, everything that depends on it. Does nothing when it is closed already.
     *
     * @throws VerbsException when a verb failed; the object counts as closed all the same, and further failures are
     *     suppressed exceptions of the first
     * @throws IllegalStateException when another thread is in the middle of a batch on an extended queue and does not
     *     end it within two seconds; nothing is closed then
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @Override
    public final void close() {
        arena.checkThread();
        VerbsException failure;
        arena.lock().lock();
        try {
            if (!destroyed) {
                prepare();
            }
            failure = closeTree(null);
        } finally {
            arena.lock().unlock();
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Makes the whole tree ready, or leaves it open. */
    final void prepare() {
        arena.preparing(true);
        try {
            prepareToClose();
        } catch (IllegalStateException notReady) {
            stayOpen();
            throw notReady;
        } finally {
            arena.preparing(false);
        }
    }

    /** Closes what stands below and then this, with the arena's lock held; returns the first failure so far. */
    VerbsException closeTree(VerbsException earlier) {
        if (destroyed) {
            return earlier;
        }
        destroyed = true;
        VerbsException failure = earlier;
        for (VerbsObject child : inClosingOrder(children)) {
            failure = child.closeTree(failure);
        }
        shut();
        int result = borrowed ? 0 : destroy();
        if (result < 0) {
            VerbsException mine = new VerbsException(destroyVerb(), -result, toString(), null);
            if (failure == null) {
                failure = mine;
            } else {
                failure.addSuppressed(mine);
            }
        }
        for (VerbsObject parent : parents) {
            parent.children.remove(this);
        }
        closed(result >= 0);
        return failure;
    }

    static List<VerbsObject> inClosingOrder(Collection<VerbsObject> objects) {
        List<VerbsObject> sorted = new ArrayList<>(objects);
        sorted.sort(Comparator.comparingInt(VerbsObject::closingOrder));
        return sorted;
    }

    /** Lets no further call in and waits for those under way, each of which is short. */
    void shut() {
        if (owner != null) {
            users = CLOSED;
            return;
        }
        USERS.getAndBitwiseOr(this, CLOSED);
        // Pairs with the addition in exit().
        while ((int) USERS.getVolatile(this) != CLOSED) {
            LockSupport.parkNanos(1_000);
        }
    }

    /** Begins a call that uses the native object; {@link #exit} must follow. */
    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    final void enter() {
        if (owner != null) {
            if (owner != Thread.currentThread()) {
                throw wrongThread();
            }
            if (users < 0) {
                throw alreadyClosed();
            }
        } else if ((int) USERS.getAndAdd(this, 1) < 0) {
            USERS.getAndAdd(this, -1);
            throw alreadyClosed();
        }
    }

    /** Ends what {@link #enter} began. */
    final void exit() {
        if (owner == null) {
            USERS.getAndAdd(this, -1);
        }
    }

    final void checkOpen() {
        arena.checkThread();
        if (!isOpen()) {
            throw alreadyClosed();
        }
    }

    private WrongThreadException wrongThread() {
        return new WrongThreadException(this + " belongs to an arena confined to " + owner);
    }

    private IllegalStateException alreadyClosed() {
        return new IllegalStateException(this + " is closed");
    }
}
