package org.rdmapanama;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

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

    /** What stands below this. Guarded by the arena's lock. */
    private final Set<VerbsObject> children = new LinkedHashSet<>();

    /** Calls under way, in a shared arena; the sign bit is set when this is closed. */
    @SuppressWarnings("unused") // through USERS
    private int users;

    /** Whether this stands below its parents: from when it is complete. Guarded by the arena's lock. */
    private boolean joined;

    /** Whether the native object is no more, or nothing that ends here. Guarded by the arena's lock. */
    private boolean ended;

    /** With which errno the driver refused to end the native object, or 0. Guarded by the arena's lock. */
    private int refusal;

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

    /**
     * From now on this ends with its parents. A constructor that throws leaves nothing below them. To be called with the
     * arena's lock held.
     */
    final void join() {
        joined = true;
        for (VerbsObject parent : parents) {
            parent.children.add(this);
        }
    }

    /** Takes back {@link #join}. */
    final void leave() {
        for (VerbsObject parent : parents) {
            parent.children.remove(this);
        }
    }

    /** From now on this uses that, too, and ends before it. To be called with the arena's lock held. */
    final void addParent(VerbsObject parent) {
        parents.add(parent);
        if (joined) {
            parent.children.add(this);
        }
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

    /**
     * Whether this can be ended while something stands below it that could not be. Asking the driver all the same would be
     * wrong: some, such as siw, take a queue's memory away before they are told that it is still in use.
     */
    boolean endsWithWhatIsLeft() {
        return false;
    }

    /** Whether a driver that refused to end this may be asked again. */
    boolean canTryAgain() {
        return true;
    }

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

    /** What closing this closes, each before what it uses. With the arena's lock held. */
    void forEachInTree(Consumer<VerbsObject> visitor) {
        for (VerbsObject child : children) {
            child.forEachInTree(visitor);
        }
        visitor.accept(this);
    }

    /**
     * Called before anything of the tree that this belongs to is closed, perhaps several times, with the arena's lock held:
     * has the closing hold the queues on which no batch of another thread may be open when this ends.
     */
    void holdBatches(@SuppressWarnings("unused") Closing closing) {}

    /** Called once this has ended. */
    void ended() {}

    /** Called when the native object will never end while the process lives, since its device was closed. */
    void lost() {}

    /** The device was closed, and with it goes the last chance to end this. */
    final void lose() {
        ended = true;
        Log.LOGGER.error("{} could not be ended; the kernel may keep it until this process ends", this);
        lost();
    }

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
     * @throws VerbsException when a driver refused to end a native object; further failures are suppressed exceptions of
     *     the first. Nothing of it can be used any more all the same. What could not be ended, and what that uses, is
     *     tried again when this is closed again, or with what it belongs to, its {@link Context} last
     *     of all. A call of another thread that takes longer than ten seconds is EBUSY
     * @throws IllegalStateException when another thread is in the middle of a batch on an extended queue and does not
     *     end it within two seconds; nothing is closed then
     * @throws WrongThreadException when the arena is confined to another thread
     */
    @Override
    public final void close() {
        arena.checkThread();
        Closing closing = new Closing(arena);
        arena.lock().lock();
        try {
            if (!ended) {
                closing.await(this::forEachInTree, () -> {});
                closeTree(closing);
            }
        } finally {
            closing.release();
            arena.lock().unlock();
        }
        closing.throwFailure();
    }

    /** Closes what stands below and then this, with the arena's lock held. */
    void closeTree(Closing closing) {
        if (ended || !closing.begins(this)) {
            return;
        }
        for (VerbsObject child : inClosingOrder(children)) {
            child.closeTree(closing);
        }
        if (!closing.isShut(this)) {
            String cure = "a call on it is under way in another thread; close it again when that has come back";
            closing.failed(new VerbsException(destroyVerb(), Errno.EBUSY.number, toString(), cure));
            return;
        }
        VerbsException failure = end();
        if (failure != null) {
            closing.failed(failure);
            // A driver that has no such verb will never end it: nothing is to wait for that.
            if (refusal != Errno.EOPNOTSUPP.number && refusal != Errno.ENOSYS.number) {
                return;
            }
            lost();
        }
        ended = true;
        leave();
        ended();
    }

    /** Ends the native object; returns why it could not be ended, or null. */
    private VerbsException end() {
        if (borrowed) {
            return null;
        }
        if (!children.isEmpty() && !endsWithWhatIsLeft()) {
            String left = children.iterator().next() + " uses it, and could not be ended";
            return new VerbsException(destroyVerb(), Errno.EBUSY.number, toString(), left);
        }
        if (refusal != 0 && !canTryAgain()) {
            return new VerbsException(destroyVerb(), refusal, toString(), "it was tried before");
        }
        refusal = -destroy();
        return refusal > 0 ? new VerbsException(destroyVerb(), refusal, toString(), null) : null;
    }

    /** Whether the driver refused to end this, the last time it was asked. */
    final boolean isRefused() {
        return refusal > 0;
    }

    /** What this uses. */
    final Set<VerbsObject> parents() {
        return parents;
    }

    static List<VerbsObject> inClosingOrder(Collection<VerbsObject> objects) {
        List<VerbsObject> sorted = new ArrayList<>(objects);
        sorted.sort(Comparator.comparingInt(VerbsObject::closingOrder));
        return sorted;
    }

    /** Lets no further call in: whether none is under way any more. With the arena's lock held. */
    boolean shut() {
        if (owner != null) {
            users = CLOSED;
            return true;
        }
        USERS.getAndBitwiseOr(this, CLOSED);
        // Pairs with the addition in exit().
        return (int) USERS.getVolatile(this) == CLOSED;
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
