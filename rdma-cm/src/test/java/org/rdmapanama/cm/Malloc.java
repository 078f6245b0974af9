package org.rdmapanama.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** How much of malloc(3) this process uses, with what the JVM does. */
final class Malloc {
    /** {@code struct mallinfo2}: ten numbers of type size_t. */
    private static final StructLayout INFO =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(10, ValueLayout.JAVA_LONG));

    /** Bytes in blocks of mmap(2), and bytes in use of the rest. */
    private static final int HBLKHD = 4;

    private static final int UORDBLKS = 7;

    private Malloc() {}

    @SuppressWarnings("restricted") // a test may call C
    static long used() {
        Linker linker = Linker.nativeLinker();
        MethodHandle call = linker.downcallHandle(
                linker.defaultLookup().find("mallinfo2").orElseThrow(), FunctionDescriptor.of(INFO));
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment info = (MemorySegment) call.invokeExact((SegmentAllocator) temporary);
            return info.getAtIndex(ValueLayout.JAVA_LONG, HBLKHD) + info.getAtIndex(ValueLayout.JAVA_LONG, UORDBLKS);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
