package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * An arena that owns memory together with the verbs objects that use it, and ends their lives in the right order.
 *
 * <p>A plain {@link Arena} does not say in which order it cleans up, and it knows nothing of a network card that may
 * still write to its memory. Closing this one takes, for every {@link Context} opened in it:
 *
 * <ol>
 *   <li>the queue pairs to the error state, and drains what was posted to them;
 *   <li>then memory windows, queue pairs, address handles, memory regions, completion queues, device memory, completion
 *       channels and protection domains away, children before parents, and the device last;
 *   <li>and only then, its memory.
 * </ol>
 *
 * <p>Memory that is to be registered comes from this arena: from {@link #allocate}, or from
 * {@link java.nio.channels.FileChannel#map(java.nio.channels.FileChannel.MapMode, long, long, Arena)} with this arena
 * as its last argument. Both are freed after everything else, so never while they are registered.
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
 *     <tr><th scope="row">cost of a post or a poll</th><td>a comparison</td><td>two atomic additions</td></tr>
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
     * Arenas with an open device. A region may rest on memory that the collector frees, of an automatic arena: an arena
     * that is dropped without being closed, or with a device that could not be closed, must keep it.
     */
    private static final Set<VerbsArena> WITH_OPEN_DEVICES = ConcurrentHashMap.newKeySet();

    /** Memory that could not be deregistered; that of an automatic arena among it must not be collected. */
    private static final Collection<MemorySegment> LEAKED = new ConcurrentLinkedQueue<>();

    private final Arena memory;
    private final Thread owner;

    /** How often chained work requests were changed so that a queue may not take them any more. */
    private final AtomicLong chainChanges = new AtomicLong();

    private final ReentrantLock lock = new ReentrantLock();

    /** Changed with the lock held, and read without it. */
    private final Set<Context> contexts = new CopyOnWriteArraySet<>();

    private boolean closed;
    private boolean freed;
    private boolean memoryMayBeInUse;

    private VerbsArena(Arena memory, Thread owner) {
        this.memory = memory;
        this.owner = owner;
    }

    /**
     * An arena for one thread: the fastest, and the safest.
     *
     * @return a new arena, owned by the calling thread
     */
    public static VerbsArena ofConfined() {
        return new VerbsArena(Arena.ofConfined(), Thread.currentThread());
    }

    /**
     * An arena that any thread may use.
     *
     * @return a new arena
     */
    public static VerbsArena ofShared() {
        return new VerbsArena(Arena.ofShared(), null);
    }

    /**
     * Allocates zeroed native memory that lives until this arena closes.
     *
     * @param byteSize size in bytes
     * @param byteAlignment alignment in bytes, a power of two; 4096 keeps a registered region from sharing its pages
     * @return the memory
     * @throws IllegalArgumentException when the size is negative or the alignment no power of two
     * @throws IllegalStateException when this arena is closed
     * @throws WrongThreadException when this arena is confined to another thread
     * @throws OutOfMemoryError when there is no such memory
     */
    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        return memory.allocate(byteSize, byteAlignment);
    }

    /**
     * The scope of the memory of this arena.
     *
     * @return the scope; it ends when this arena has closed
     */
    @Override
    public MemorySegment.Scope scope() {
        return memory.scope();
    }

    /**
     * Closes everything in this arena, in the order that the class text gives, and frees its memory.
     *
     * <p>A verb that fails on the way does not stop the rest. When a memory region could not be deregistered, the
     * memory of this arena is not freed: it leaks, which the log and the exception say. When a device could not be closed,
     * the memory is not freed either, and closing this again tries again.
     *
     * <p>Work that is outstanding on a queue pair is given two seconds to drain; what did not drain by then is
     * reported in the log.
     *
     * @throws IllegalStateException when another thread is using memory of this arena in a call of its own, such as
     *     writing it to a channel: everything else is closed then, and closing again frees the memory; or when another
     *     thread is in the middle of a batch on an extended queue and does not end it within two seconds: nothing is
     *     closed then
     * @throws VerbsException when a verb failed; further failures are suppressed exceptions of the first
     * @throws WrongThreadException when this arena is confined to another thread
     */
    @Override
    public void close() {
        checkThread();
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

    private void forEachObject(Consumer<VerbsObject> visitor) {
        for (Context context : contexts) {
            context.forEachInTree(visitor);
        }
    }

    /** Takes no lock. */
    void forEachContext(Consumer<Context> visitor) {
        contexts.forEach(visitor);
    }

    private void free(VerbsException failure) {
        if (!contexts.isEmpty()) {
            // Its regions keep memory of automatic arenas, so this must not be forgotten.
            Log.LOGGER.error("keeping the memory of an arena: {} could not be closed", contexts);
            return;
        }
        if (memoryMayBeInUse) {
            Log.LOGGER.error("leaking the memory of an arena: a region in it could not be deregistered");
        } else {
            try {
                memory.close();
            } catch (IllegalStateException inUse) {
                // Another thread is in a call with this memory: nothing is freed, and closing can be tried again.
                if (failure != null) {
                    inUse.addSuppressed(failure);
                }
                throw inUse;
            }
        }
        freed = true;
        WITH_OPEN_DEVICES.remove(this);
    }

    /** A work request that others are chained before has changed: all chains are to be looked at again. */
    void chainChanged() {
        chainChanges.incrementAndGet();
    }

    /** Another number after each change. */
    long chainChanges() {
        return chainChanges.get();
    }

    /** Null when shared. */
    Thread owner() {
        return owner;
    }

    /** Guards the making and closing of objects, never the data path. */
    ReentrantLock lock() {
        return lock;
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
            throw new IllegalStateException("the arena is closed");
        }
    }

    /** With the lock held. */
    void requireNoContextAt(long nativeAddress) {
        for (Context known : contexts) {
            if (known.address == nativeAddress) {
                throw new IllegalArgumentException("there is an object for this address already: " + known);
            }
        }
    }

    void add(Context context) {
        WITH_OPEN_DEVICES.add(this);
        contexts.add(context);
    }

    void remove(Context context) {
        contexts.remove(context);
        if (contexts.isEmpty()) {
            WITH_OPEN_DEVICES.remove(this);
        }
    }

    /** From now on this memory, and all of this arena, is never freed: the device may still use it. */
    void leak(MemorySegment memory) {
        leak();
        LEAKED.add(memory);
    }

    /** As {@link #leak(MemorySegment)}, when it is not known which memory the device may still use. */
    void leak() {
        memoryMayBeInUse = true;
    }

    /** Whether memory lives exactly as long as this arena. */
    boolean owns(MemorySegment segment) {
        return segment.scope().equals(memory.scope());
    }
}
