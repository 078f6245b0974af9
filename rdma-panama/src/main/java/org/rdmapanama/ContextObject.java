package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.internal.provider.ProviderContext;

/** A verbs object that was created on an open device. */
abstract class ContextObject extends VerbsObject {
    final Context context;
    final ProviderContext provider;

    /** The completion queues that this reports to. */
    final ClearedQueues clearedQueues;

    /** Memory that is freed with this; null before it is needed. Guarded by the arena's lock. */
    private @Nullable Arena memory;

    ContextObject(Context context, long address, VerbsObject... parents) {
        this(context, address, ClearedQueues.NONE, parents);
    }

    ContextObject(Context context, long address, ClearedQueues clearedQueues, VerbsObject... parents) {
        super(context.arena, address, parents);
        this.context = context;
        this.provider = context.provider();
        this.clearedQueues = clearedQueues;
    }

    /** {@return the open device on which this object was created} */
    public final Context context() {
        return context;
    }

    /** How the native object is destroyed. */
    abstract Ending ending();

    @Override
    int destroy() {
        return ending().call().end(provider, address);
    }

    @Override
    final String destroyVerb() {
        return ending().verb();
    }

    /** Begins a call that is not possible during a batch on an extended queue; {@link #endCall} must follow. */
    void beginCall() {}

    /** Ends what {@link #beginCall} began. */
    void endCall() {}

    /** The batches of an extended queue; null for other objects. */
    @Nullable
    Batch batch() {
        return null;
    }

    @Override
    void holdBatches(Closing closing) {
        clearedQueues.hold(closing);
    }

    @Override
    void ended() {
        context.forget(this);
        if (memory != null) {
            arena.free(memory);
            memory = null;
        }
    }

    /** Takes memory that is freed once this is closed. The caller must hold the arena's lock. */
    final void own(Arena itsMemory) {
        memory = itsMemory;
    }

    /** Never frees the memory of this. */
    final void disown() {
        memory = null;
    }

    @Override
    boolean canTryAgain() {
        return context.endsAgain();
    }

    /** Allocates memory for what only this uses: it is freed once this is closed, when no call can be using it. */
    final MemorySegment allocate(long byteSize, long byteAlignment) {
        arena.lock().lock();
        try {
            checkOpen();
            if (memory == null) {
                memory = arena.newPart();
            }
            return memory.allocate(byteSize, byteAlignment);
        } finally {
            arena.lock().unlock();
        }
    }

    final void requireSameContext(ContextObject other) {
        if (other.context != context) {
            throw new IllegalArgumentException(other + " belongs to another context than " + this);
        }
    }
}
