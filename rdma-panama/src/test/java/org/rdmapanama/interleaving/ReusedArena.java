package org.rdmapanama.interleaving;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A shared arena that ends in earnest only while a run is under way. To end one, the JVM stops all of its threads for a
 * moment, and that took most of the time: each of some hundred thousand runs leaves about eight, which are closed when its
 * threads have ended, and no longer meet. These serve the next runs instead, so many times.
 */
final class ReusedArena implements Arena {
    /** What was allocated is freed with the last use. */
    private static final int USES = 64;

    private static final Queue<Backing> IDLE = new ConcurrentLinkedQueue<>();

    private static final class Backing {
        private final Arena arena = Arena.ofShared();
        private int uses;
    }

    private final Backing backing;
    private boolean closed;

    ReusedArena() {
        Backing idle = IDLE.poll();
        backing = idle == null ? new Backing() : idle;
        backing.uses++;
    }

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        return backing.arena.allocate(byteSize, byteAlignment);
    }

    @Override
    public MemorySegment.Scope scope() {
        return backing.arena.scope();
    }

    @Override
    public void close() {
        if (closed || Schedule.current() != null || backing.uses == USES) {
            backing.arena.close();
        } else {
            IDLE.add(backing);
        }
        closed = true;
    }
}
