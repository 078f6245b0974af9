package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/**
 * calloc(3) and free(3) of the C library. Unlike closing a shared arena, freeing does not wait for other threads. Any
 * thread may call it.
 */
public final class Heap {
    private static final MethodHandle CALLOC =
            SystemFunctions.downcall("calloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = SystemFunctions.downcall("free", FunctionDescriptor.ofVoid(JAVA_LONG));

    private Heap() {}

    /**
     * Allocates memory filled with zeros.
     *
     * @param bytes the size in bytes
     * @return the address
     * @throws OutOfMemoryError when there is not enough memory
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
     * Frees memory.
     *
     * @param address the result of {@link #allocate}, not freed before
     */
    public static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
