package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** An arena of memory that {@link KnownMemory} finds. Any thread may use it, because the threads of a software device do. */
final class KnownArena implements Arena {
    private final Arena arena = Arena.ofShared();
    private final List<MemorySegment> all = new ArrayList<>();

    @Override
    public MemorySegment allocate(long byteSize, long byteAlignment) {
        // Not while it is closed, after which nobody would forget it.
        synchronized (all) {
            // Two segments without bytes could have the same address.
            MemorySegment memory = arena.allocate(byteSize == 0 ? 1 : byteSize, byteAlignment);
            all.add(memory);
            KnownMemory.allocated(memory);
            return memory.asSlice(0, byteSize);
        }
    }

    @Override
    public MemorySegment.Scope scope() {
        return arena.scope();
    }

    @Override
    public void close() {
        // First, while nobody else can have the addresses. What cannot be closed now stays known.
        synchronized (all) {
            all.forEach(KnownMemory::freed);
            try {
                arena.close();
            } catch (IllegalStateException inUse) {
                all.forEach(KnownMemory::allocated);
                throw inUse;
            }
            all.clear();
        }
    }
}
