package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.QueuePair;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.ffm.internal.Native;

/**
 * Completes what is posted to one of the two queues of a queue pair, instead of its card: a store for each work request, in
 * the thread that posts. {@code mlx5loops.c} does the same for C, and has the layout of {@code struct hardware}.
 */
final class Mlx5Hardware extends CardHardware {
    /** The library that {@code bin/bench direct} compiles. */
    static final String LIBRARY = "libmlx5loops.so";

    private static final MemorySegment MEMORY = Native.MEMORY;

    // Without checks of alignment and bounds, as in C: this is not what is measured.
    private static final VarHandle INT = JAVA_INT_UNALIGNED.varHandle();
    private static final VarHandle LONG = JAVA_LONG_UNALIGNED.varHandle();
    private static final long ADDRESSES = 0x00ff_ffff_ffff_ffffL;

    private static final int LAST_WORD = 56;
    private static final int COUNTER_SHIFT = 32;
    private static final int OWNER_SHIFT = 56;

    /** Of {@code struct hardware}: three of eight bytes, four of four. */
    private static final long BYTES = 3 * 8 + 4 * 4;

    private static final MethodHandle FIND =
            NullNic.loop(LIBRARY, "bench_hardware", JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);

    private final long record;
    private final long entries;
    private final long completion;
    private final int entryCount;
    private final long entryBytes;
    private int executed;
    private int produced;

    /**
     * Takes over from a card that was halted.
     *
     * @param produced how many completions it has written, at least one
     */
    Mlx5Hardware(VerbsArena arena, QueuePair queuePair, CompletionQueue queue, boolean receives, int produced)
            throws Throwable {
        super(arena, BYTES);
        long result = (long) FIND.invokeExact(
                queuePair.nativeAddress(), queue.nativeAddress(), receives ? 1 : 0, produced, struct.address());
        if ((int) result != 0) {
            throw new IllegalStateException("mlx5dv_init_obj failed: " + (int) result);
        }
        record = struct.get(JAVA_LONG, 0);
        entries = struct.get(JAVA_LONG, 8);
        completion = struct.get(JAVA_LONG, 16);
        entryCount = struct.get(JAVA_INT, 24);
        entryBytes = struct.get(JAVA_INT, 28);
        executed = struct.get(JAVA_INT, 32);
        this.produced = produced;
    }

    @Override
    void complete() {
        short announced = (short) Integer.reverseBytes((int) INT.get(MEMORY, record & ADDRESSES));
        while ((short) executed != announced) {
            long entry = entries + (produced & (entryCount - 1)) * entryBytes;
            long owner = (produced & entryCount) == 0 ? 0 : 1L << OWNER_SHIFT;
            long counter = Short.toUnsignedLong(Short.reverseBytes((short) executed)) << COUNTER_SHIFT;
            LONG.set(MEMORY, (entry + LAST_WORD) & ADDRESSES, completion | owner | counter);
            executed++;
            produced++;
        }
    }
}
