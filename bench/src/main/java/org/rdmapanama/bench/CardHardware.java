package org.rdmapanama.bench;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.VerbsArena;

/**
 * Completes what is posted to one of the two queues of a queue pair, instead of its card, in the thread that posts. A JVM has
 * one kind of card, so that the compiler inlines {@link #complete}.
 */
abstract class CardHardware {
    /** The {@code struct hardware}, for C. */
    final MemorySegment struct;

    CardHardware(VerbsArena arena, long bytes) {
        struct = arena.allocate(bytes, Long.BYTES);
    }

    /** Completes what was posted: work requests of one block or entry each. */
    abstract void complete();
}
