package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/**
 * calloc(3) and free(3), which every C library has: unlike closing a shared arena, freeing waits for no other thread.
 */
public final class Heap {
    private static final MethodHandle CALLOC =
            SystemFunctions.downcall("calloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = SystemFunctions.downcall("free", FunctionDescriptor.ofVoid(JAVA_LONG));

    private Heap() {}

    /**
     * Allocates memory of zeros.
     *
     * @param bytes how much
     * @return its address
     * @throws OutOfMemoryError when there is not that much
     */
    public static long allocate(long bytes) {
        long address;
        try {
            address = (long) CALLOC.invokeExact(1L, bytes);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
        if (address == 0) {
            throw new OutOfMemoryError("calloc has no " + bytes + " bytes");
        }
        return address;
    }

    /**
     * Gives memory back.
     *
     * @param address what {@link #allocate} returned, and nobody gave back yet
     */
    public static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
