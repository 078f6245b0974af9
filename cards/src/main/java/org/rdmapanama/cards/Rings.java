package org.rdmapanama.cards;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.soft.memory.Memory;

/** Reads and writes memory that a program reads and writes at the same time, in the order that a bus keeps. */
final class Rings {
    private static final int COUNTER = 0xffff;

    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private Rings() {}

    /** Reads the 16 bits of a big-endian doorbell record, before what they announce. */
    static int readCounter(long address) {
        return Integer.reverseBytes(Memory.getIntAcquire(address)) & COUNTER;
    }

    /** Replaces a number in memory unless a program has written another one. */
    static void replace(long address, int expected, int value) {
        INT.compareAndSet(Native.MEMORY, address, expected, value);
    }

    /** Writes a byte after everything that was written before. */
    static void publish(long address, byte value) {
        VarHandle.releaseFence();
        Memory.putByte(address, value);
    }
}
