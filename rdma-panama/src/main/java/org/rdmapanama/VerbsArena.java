package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.internal.LeakDetector;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.ObjectModelAccess;
import org.rdmapanama.internal.WaitLimits;

/**
 * An arena that owns memory together with the verbs objects that use it, and closes them in the right order.
 *
 * <p>A plain {@link Arena} does not define in which order it cleans up, and does not know about a network card that may
 * still write to its memory. Closing this arena does the following, for every {@link Context} opened in it:
 *
 * <ol>
 *   <li>It closes the servers of module rdma-cm, and ends its connections, which tells their peers.
 *   <li>It moves the queue pairs to the error state and drains their posted work.
 *   <li>It closes memory windows, queue pairs, address handles, memory regions, completion queues, device memory,
 *       completion channels and protection domains, children before parents, and the device last.
 *   <li>Only then it frees its memory.
 * </ol>
 *
 * <p>Allocate memory for registration from this arena, with {@link #allocate} or with {@link
 * java.nio.channels.FileChannel#map(java.nio.channels.FileChannel.MapMode, long, long, Arena)} with this arena as the
 * last argument. It is freed after everything else, so never while it is registered.
 *
 * <h2>Which kind</h2>
 *
 * <table class="striped">
 *   <caption>Kinds of arena</caption>
 *   <thead><tr><th scope="col"></th><th scope="col">{@link #ofConfined()}</th><th scope="col">{@link #ofShared()}</th>
 *   </tr></thead>
 *   <tbody>
 *     <tr><th scope="row">who may use its objects and memory</th><td>the thread that made it</td><td>any thread</td>
 *     </tr>
 *     <tr><th scope="row">other threads get</th><td>{@link WrongThreadException}</td><td>access</td></tr>
 *     <tr><th scope="row">cost of a post or a poll</th><td>a comparison</td><td>two atomic
 *       additions; none for a thread that the queue or queue pair is {@linkplain QueuePair#bindToThread bound} to</td></tr>
 *     <tr><th scope="row">closing while another thread posts or polls</th><td>impossible</td><td>waits for that call
 *       to end; the next one gets {@link IllegalStateException}</td></tr>
 *   </tbody>
 * </table>
 *
 * <p>In both, closing an object twice does nothing the second time, and using a closed one throws
 * {@link IllegalStateException}.
 */
public final class VerbsArena implements Arena {
    /**
     * Arenas with an open device. A region may use memory of an automatic arena, which the garbage collector frees. An
     * arena that becomes unreachable without being closed, or with a device that could not be closed, must keep that
     * memory alive.
     */
    private static final Set<VerbsArena> WITH_OPEN_DEVICES = ConcurrentHashMap.newKeySet();

    /** Memory that could not be deregistered. It may belong to an automatic arena, and must not be collected. */
    private static final Collection<MemorySegment> LEAKED = new ConcurrentLinkedQueue<>();

    static {
        ObjectModelAccess.set(new ModelAccess());
    }

    private final Arena memory;
    private final @Nullable Thread owner;

    /** The number of changes to chained work requests after which a queue may no longer accept them. */
    private final AtomicLong chainChanges = new AtomicLong();

    private final ReentrantLock lock = new ReentrantLock();

    /** Changed with the lock held, and read without it. */
    private final Set<Context> contexts = new CopyOnWriteArraySet<>();

    /** Objects of other modules, such as connections, which close before all others. */
    private final Set<AutoCloseable> dependents = ConcurrentHashMap.newKeySet();

    /** Memory of closed objects that a call of another thread was using at that moment. Guarded by the lock. */
    private final List<Arena> late = new ArrayList<>();

    private volatile WaitLimits waitLimits = WaitLimits.USUAL;

    private boolean closed;
    private boolean freed;
    private boolean memoryMayBeInUse;

    /** Null unless leaks are looked for. */
    private final @Nullable LeakDetector leaks;

    private VerbsArena(Arena memory, @Nullable Thread owner) {
        this.memory = memory;
        this.owner = owner;
        leaks = LeakDetector.ON
                ? LeakDetector.watch(this, owner == null ? "shared arena" : "arena confined to " + owner)
                : null;
    }

    /** {@return a new arena that is owned by the calling thread: the fastest and safest kind} */
    public static VerbsArena ofConfined() {
        return new VerbsArena(KnownMemory.ofConfined(), Thread.currentThread());
    }

    /** {@return a new arena that any thread may use} */
    public static VerbsArena ofShared() {
        return new VerbsArena(KnownMemory.ofShared(), null);
    }

    /**
     * Allocates zeroed native memory that lives until this arena closes.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two; 4096 keeps a registered region from sharing its pages
     * @return the memory
     * @throws IllegalArgumentException when the size is negative or the alignment is not a power of two
     * @throws IllegalStateException when this arena is closed
     * @throws WrongThreadException when this arena is confined to another thread
     * @throws OutOfMemoryError when there is not enough memory
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        checkThread();
        if (!memory.scope().isAlive()) {
            throw new IllegalStateException(this + "; allocate from another arena");
        }
        return memory.allocate(byteSize, byteAlignment);
    }

    /** {@return the scope of the memory of this arena, which ends when the arena has closed} */
    @Override
    public MemorySegment.Scope scope() {
        return memory.scope();
    }

    /**
     * Closes everything in this arena, in the order that the class description gives, and frees its memory.
     *
     * <p>A verb that fails on the way does not stop the rest. When a memory region could not be deregistered, the
     * memory of this arena is not freed: it leaks, as the log and the exception say. When a device could not be closed,
     * the memory is not freed either; closing this again retries.
     *
     * <p>Outstanding work on a queue pair has two seconds to drain; the log reports work that did not.
     *
     * @throws IllegalStateException when another thread is using memory of this arena in a call of its own, such as
     *     writing it to a channel: everything else is closed then, and closing again frees the memory; or when another
     *     thread is in the middle of a batch on an extended queue and does not end it within two seconds: nothing is
     *     closed then but servers and connections
     * @throws VerbsException when a verb failed; further failures are suppressed exceptions of the first
     * @throws WrongThreadException when this arena is confined to another thread
     */
    @Override
    public void close() {
        checkThread();
        Throwable failure = closeDependents();
        try {
            closeObjects();
        } catch (RuntimeException | Error e) {
            failure = both(failure, e);
        }
        if (failure != null) {
            throw Errno.rethrow(failure);
        }
    }

    @SuppressWarnings("ReferenceEquality") // a throwable must not suppress itself
    private static Throwable both(@Nullable Throwable first, Throwable second) {
        if (first == null || first == second) {
            return second;
        }
        first.addSuppressed(second);
        return first;
    }

    private void closeObjects() {
        lock.lock();
        try {
            if (freed) {
                return;
            }
            Closing closing = new Closing(this);
            try {
                closing.await(this::forEachObject, () -> closed = true);
                for (Context context : List.copyOf(contexts)) {
                    context.closeTree(closing);
                }
            } finally {
                closing.release();
            }
            // Another thread may have closed it meanwhile.
            if (!freed) {
                free(closing.failure());
            }
            closing.throwFailure();
        } finally {
            lock.unlock();
        }
    }

    /** Without the lock, which they take themselves. Each leaves once it is closed. Returns the first failure, or null. */
    private @Nullable Throwable closeDependents() {
        Throwable failure = null;
        for (AutoCloseable each : dependents) {
            try {
                each.close();
            } catch (Exception | Error e) {
                failure = both(failure, e);
            }
        }
        return failure;
    }

    /** Closes an object of another module before everything else in this arena. */
    void addDependent(AutoCloseable dependent) {
        dependents.add(dependent);
    }

    /** Forgets an object that has been closed. */
    void removeDependent(AutoCloseable dependent) {
        dependents.remove(dependent);
    }

    private void forEachObject(Consumer<VerbsObject> visitor) {
        for (Context context : contexts) {
            context.forEachInTree(visitor);
        }
    }

    /** Takes no lock. */
    void forEachContext(Consumer<Context> visitor) {
        contexts.forEach(visitor);
    }

    private void free(@Nullable VerbsException failure) {
        if (!contexts.isEmpty()) {
            // Its regions keep memory of automatic arenas alive, so this arena must stay reachable.
            Log.LOGGER.error("the memory of an arena is not freed because {} could not be closed", contexts);
            return;
        }
        if (memoryMayBeInUse) {
            Log.LOGGER.error("the memory of an arena is never freed because a region in it could not be deregistered");
        } else {
            try {
                while (!late.isEmpty()) {
                    late.getLast().close();
                    late.removeLast();
                }
                memory.close();
            } catch (IllegalStateException inUse) {
                // Another thread uses this memory in a call. Nothing is freed, and closing can be repeated.
                if (failure != null) {
                    inUse.addSuppressed(failure);
                }
                throw inUse;
            }
        }
        freed = true;
        WITH_OPEN_DEVICES.remove(this);
        if (leaks != null) {
            leaks.closed();
        }
    }

    /** Returns an arena for memory that is freed earlier than that of this; {@link #free} does. */
    Arena newPart() {
        return owner == null ? KnownMemory.ofShared() : KnownMemory.ofConfined();
    }

    /** Frees the memory of an object that is closed; with this, if a call of another thread uses it. Needs the lock. */
    void free(Arena part) {
        try {
            part.close();
        } catch (IllegalStateException inUse) {
            late.add(part);
        }
    }

    /** Records that a chained work request has changed, so that all chains must be checked again. */
    void chainChanged() {
        chainChanges.incrementAndGet();
    }

    /** Returns a number that differs after each change. */
    long chainChanges() {
        return chainChanges.get();
    }

    /** Null if this is shared. */
    @Nullable
    Thread owner() {
        return owner;
    }

    /** Guards creating and closing objects, never the data path. */
    ReentrantLock lock() {
        return lock;
    }

    /** How long this waits for other threads. */
    WaitLimits waitLimits() {
        return waitLimits;
    }

    /** Other ones, from the next wait on: for tests. */
    void waitLimits(WaitLimits limits) {
        waitLimits = limits;
    }

    @SuppressWarnings("ReferenceEquality") // threads are compared by identity
    void checkThread() {
        if (owner != null && owner != Thread.currentThread()) {
            throw new WrongThreadException("this arena is confined to " + owner);
        }
    }

    void checkOpen() {
        checkThread();
        if (closed) {
            throw new IllegalStateException("arena is closed; use another one");
        }
    }

    /** The caller must hold the lock. */
    void requireNoContextAt(long nativeAddress) {
        for (Context known : contexts) {
            if (known.address == nativeAddress) {
                throw new IllegalArgumentException(
                        "nativeAddress has a Java object already: " + known + "; use that one");
            }
        }
    }

    void add(Context context) {
        if (!LeakDetector.ON) {
            WITH_OPEN_DEVICES.add(this);
        }
        contexts.add(context);
        noteOpen(context, null);
    }

    /** For the detector of leaks. The memory is what the object needs while it is open; null for none. */
    void noteOpen(VerbsObject object, @Nullable MemorySegment needed) {
        if (leaks != null) {
            leaks.opened(leakKey(object), object.toString(), needed);
        }
    }

    /** For the detector of leaks. */
    void noteClosed(VerbsObject object) {
        if (leaks != null) {
            leaks.closed(leakKey(object));
        }
    }

    private static String leakKey(VerbsObject object) {
        return object.getClass().getName() + object.address;
    }

    void remove(Context context) {
        contexts.remove(context);
        if (contexts.isEmpty()) {
            WITH_OPEN_DEVICES.remove(this);
        }
    }

    /** Never frees this memory and that of this arena from now on, because the device may still use it. */
    void leak(MemorySegment memory) {
        leak();
        LEAKED.add(memory);
    }

    /** Whether the device may use memory for ever. */
    static boolean isLeaked(MemorySegment memory) {
        return LEAKED.contains(memory);
    }

    /** Like {@link #leak(MemorySegment)}, if it is not known which memory the device may still use. */
    void leak() {
        memoryMayBeInUse = true;
    }

    /** Its kind, its owner and the open devices. */
    @Override
    public String toString() {
        String kind = owner == null ? "shared arena" : "arena confined to " + owner;
        return kind + (memory.scope().isAlive() ? " with open devices " + contexts : " is closed");
    }

    /** Whether memory lives exactly as long as this arena. */
    boolean owns(MemorySegment segment) {
        return segment.scope().equals(memory.scope());
    }
}
