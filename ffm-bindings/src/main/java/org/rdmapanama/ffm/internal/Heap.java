package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * calloc(3) and free(3) of the C library. Unlike closing a shared arena, freeing does not wait for other threads. Where the JVM
 * does not allow these calls, a shared arena is what there is. Any thread may call it.
 */
public final class Heap {
    /** In a class of their own, because not every JVM allows these calls. */
    private static final class Calls {
        private static final MethodHandle CALLOC =
                SystemFunctions.downcall("calloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
        private static final MethodHandle FREE = SystemFunctions.downcall("free", FunctionDescriptor.ofVoid(JAVA_LONG));
    }

    /** What was allocated without these calls, by address. */
    private static final Map<Long, Arena> ARENAS = new ConcurrentHashMap<>();

    /** That of malloc(3). */
    private static final long ALIGNMENT = 16;

    private Heap() {}

    /**
     * Allocates memory filled with zeros.
     *
     * @param bytes the size in bytes
     * @return the address
     * @throws OutOfMemoryError when there is not enough memory
     */
    public static long allocate(long bytes) {
        if (!NativeAccess.ALLOWED) {
            Arena arena = KnownMemory.ofShared();
            long address = arena.allocate(bytes, ALIGNMENT).address();
            ARENAS.put(address, arena);
            return address;
        }
        long address;
        try {
            address = (long) Calls.CALLOC.invokeExact(1L, bytes);
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
        if (!NativeAccess.ALLOWED) {
            ARENAS.remove(address).close();
            return;
        }
        try {
            Calls.FREE.invokeExact(address);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
