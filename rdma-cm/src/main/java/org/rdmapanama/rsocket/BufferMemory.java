package org.rdmapanama.rsocket;

import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;

/**
 * The memory of buffers. It remembers that of the last one, so that using the same buffer again and again allocates nothing, and
 * keeps neither the buffer nor its memory alive. Threads: one at a time.
 */
final class BufferMemory {
    private WeakReference<ByteBuffer> buffer = new WeakReference<>(null);
    private WeakReference<MemorySegment> memory = new WeakReference<>(null);

    /** Returns the memory of a buffer from index 0 up to its capacity. */
    MemorySegment of(ByteBuffer wanted) {
        MemorySegment known = buffer.refersTo(wanted) ? memory.get() : null;
        if (known != null) {
            return known;
        }
        MemorySegment made = MemorySegment.ofBuffer(wanted.duplicate().clear());
        buffer = new WeakReference<>(wanted);
        memory = new WeakReference<>(made);
        return made;
    }
}
