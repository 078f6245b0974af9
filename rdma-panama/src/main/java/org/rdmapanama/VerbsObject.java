package org.rdmapanama;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.Log;

/**
 * The base class of verbs objects, with a native address, a position in the tree of objects, and a lifetime.
 *
 * <p>An object is a child of the objects that it uses, its parents. Closing it first closes its children, so objects
 * may be closed in any order.
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
    private final @Nullable Thread owner;

    /** Guarded by the arena's lock. */
    private final Set<VerbsObject> parents = new LinkedHashSet<>();

    /** The objects that use this one. Guarded by the arena's lock. */
    private final Set<VerbsObject> children = new LinkedHashSet<>();

    /** The number of calls in progress, in a shared arena; the sign bit is set when this is closed. */
    @SuppressWarnings("unused") // through USERS
    private int users;

    /** Whether this is a child of its parents, which it becomes when it is complete. Guarded by the arena's lock. */
    private boolean joined;

    /** Whether the native object is destroyed, or is not destroyed here. Guarded by the arena's lock. */
    private boolean ended;

    /** The errno with which the driver refused to destroy the native object, or 0. Guarded by the arena's lock. */
    private int refusal;

    /** Whether other code destroys the native object. Guarded by the arena's lock. */
    private boolean borrowed;

    /**
     * The caller must hold the arena's lock.
     *
     * @param address the address of the C structure
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
     * Makes this a child of its parents, with which it will be closed. A constructor that throws leaves no child
     * behind. The caller must hold the arena's lock.
     */
    final void join() {
        joined = true;
        for (VerbsObject parent : parents) {
            parent.children.add(this);
        }
        arena.noteOpen(this, neededMemory());
    }

    /** Undoes {@link #join}. */
    final void leave() {
        for (VerbsObject parent : parents) {
            parent.children.remove(this);
        }
    }

    /** Adds a parent, before which this is closed. The caller must hold the arena's lock. */
    final void addParent(VerbsObject parent) {
        parents.add(parent);
        if (joined) {
            parent.children.add(this);
        }
    }

    /** Removes a parent that this no longer uses. The caller must hold the arena's lock. */
    final void removeParent(VerbsObject parent) {
        parents.remove(parent);
        parent.children.remove(this);
    }

    /** Calls the verb that destroys this object. Returns zero or a negated errno. */
    abstract int destroy();

    /** The C name of the verb behind {@link #destroy}. */
    abstract String destroyVerb();

    /** Siblings with lower numbers are closed first; objects that can use memory precede memory regions. */
    abstract int closingOrder();

    /**
     * Whether this can be destroyed while it has a child that could not be. Calling the driver in that case may do
     * harm: some drivers, such as siw, unmap the memory of a queue before the kernel tells them that it is still in
     * use.
     */
    boolean endsWithWhatIsLeft() {
        return false;
    }

    /** Whether the driver may be called again after it refused to destroy this. */
    boolean canTryAgain() {
        return true;
    }

    /** Describes this object for messages: "RC queue pair 0x000011 of rxe0". */
    @Override
    public abstract String toString();

    /** Records that other code destroys the native object. */
    final void borrow() {
        borrowed = true;
    }

    final boolean isBorrowed() {
        return borrowed;
    }

    /**
     * Visits all objects that closing this closes, each before the objects that it uses. The caller must hold the
     * arena's lock.
     */
    void forEachInTree(Consumer<VerbsObject> visitor) {
        for (VerbsObject child : children) {
            child.forEachInTree(visitor);
        }
        visitor.accept(this);
    }

    /**
     * Called before any object of the tree is closed, perhaps several times, with the arena's lock held. Makes the
     * closing hold the queues on which no other thread may have a batch open when this is destroyed.
     */
    void holdBatches(@SuppressWarnings("unused") Closing closing) {}

    /** Called once this has been destroyed. */
    void ended() {}

    /** Memory that must not be freed before this is closed; null if there is none. */
    @Nullable
    MemorySegment neededMemory() {
        return null;
    }

    /** Called when the native object can no longer be destroyed, because its device was closed. */
    void lost() {}

    /** Called when the device was closed, after which this can no longer be destroyed. */
    final void lose() {
        ended = true;
        Log.LOGGER.error("{} could not be destroyed; the kernel may keep it until this process exits", this);
        lost();
    }

    /**
     * Returns the address of the C structure behind this object, for native code outside of this library. The object
     * keeps owning the structure.
     *
     * @return the address
     * @throws IllegalStateException when this object is closed
     */
    public final long nativeAddress() {
        checkOpen();
        return address;
    }

    /** {@return whether this object can be used: false once it, or an object that it depends on, is closed} */
    public final boolean isOpen() {
        return ((int) USERS.getVolatile(this) & CLOSED) == 0;
    }

    /** As {@link #isOpen}, without memory ordering. */
    final boolean isOpenOpaque() {
        return (int) USERS.getOpaque(this) >= 0;
    }

    /**
     * Closes this object and, before it, everything that depends on it. Does nothing if it is already closed.
     *
     * @throws VerbsException when a driver refused to destroy a native object; further failures are suppressed
     *     exceptions of the first. The objects can no longer be used nevertheless. Those that could not be destroyed,
     *     and the objects they use, are retried when this is closed again, or with a parent, and at last with the
     *     {@link Context}. EBUSY means that a call of another thread takes longer than ten seconds
     * @throws IllegalStateException when another thread is in the middle of a batch on an extended queue and does not
     *     end it within two seconds; nothing is closed then
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

    /** Closes the children and then this. The caller must hold the arena's lock. */
    void closeTree(Closing closing) {
        if (ended || !closing.begins(this)) {
            return;
        }
        if (!children.isEmpty()) {
            for (VerbsObject child : inClosingOrder(children)) {
                child.closeTree(closing);
            }
        }
        if (!closing.isShut(this)) {
            String cure = "a call on it is in progress in another thread; close it again when that call has returned";
            closing.failed(new VerbsException(destroyVerb(), Errno.EBUSY, toString(), cure));
            return;
        }
        VerbsException failure = end();
        if (failure != null) {
            closing.failed(failure);
            // A driver without this verb can never destroy the object, so there is nothing to wait for.
            if (refusal != Errno.EOPNOTSUPP && refusal != Errno.ENOSYS) {
                return;
            }
            lost();
        }
        ended = true;
        leave();
        arena.noteClosed(this);
        ended();
    }

    /** Destroys the native object. Returns why that failed, or null. */
    private @Nullable VerbsException end() {
        if (borrowed) {
            return null;
        }
        if (!children.isEmpty() && !endsWithWhatIsLeft()) {
            String left = children.iterator().next() + " uses it and could not be destroyed";
            return new VerbsException(destroyVerb(), Errno.EBUSY, toString(), left);
        }
        if (refusal != 0 && !canTryAgain()) {
            return new VerbsException(destroyVerb(), refusal, toString(), "an earlier close failed in the same way");
        }
        try {
            refusal = -destroy();
        } catch (RuntimeException e) {
            // A fault in a software device. The rest of the tree is closed nevertheless.
            refusal = Errno.EIO;
            VerbsException failure = new VerbsException(destroyVerb(), refusal, toString(), "the device threw " + e);
            failure.initCause(e);
            return failure;
        }
        return refusal > 0 ? new VerbsException(destroyVerb(), refusal, toString(), null) : null;
    }

    /** Whether the driver refused to destroy this in the last attempt. */
    final boolean isRefused() {
        return refusal > 0;
    }

    /** The objects that this uses. */
    final Set<VerbsObject> parents() {
        return parents;
    }

    static List<VerbsObject> inClosingOrder(Collection<VerbsObject> objects) {
        List<VerbsObject> sorted = new ArrayList<>(objects);
        sorted.sort(Comparator.comparingInt(VerbsObject::closingOrder));
        return sorted;
    }

    /** Refuses further calls. Returns whether none is in progress. The caller must hold the arena's lock. */
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

    final IllegalStateException alreadyClosed() {
        return new IllegalStateException(this + " is closed");
    }
}
