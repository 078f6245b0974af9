package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Creates views of C structures that native code owns, and what else the JVM allows only to modules with native access.
 * The caller is responsible for addresses and lifetimes.
 */
public final class Native {
    /**
     * All memory, indexed by address, without any checks: for memory that the caller knows to exist, where creating a
     * view would cost more than the access.
     */
    public static final MemorySegment MEMORY;

    static {
        NativeAccess.require();
        MEMORY = struct(0, Long.MAX_VALUE);
    }

    private Native() {}

    /**
     * Returns a view of a structure.
     *
     * @param address the address of the structure
     * @param layout the layout
     * @return the view
     */
    public static MemorySegment struct(long address, MemoryLayout layout) {
        return struct(address, layout.byteSize());
    }

    /**
     * Returns a view of a structure.
     *
     * @param address the address of the structure
     * @param byteSize its size in bytes
     * @return the view
     */
    @SuppressWarnings("restricted")
    public static MemorySegment struct(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /**
     * Returns a view of memory that lives as long as an arena.
     *
     * @param memory the memory
     * @param arena the arena
     * @param whenClosed runs once when the arena is closed
     * @return the view
     */
    @SuppressWarnings("restricted")
    public static MemorySegment owned(MemorySegment memory, Arena arena, Runnable whenClosed) {
        return memory.reinterpret(arena, closed -> whenClosed.run());
    }

    /**
     * Returns a handle that calls a function whose address is its first argument.
     *
     * @param descriptor the signature
     * @param options linker options
     * @return the handle
     */
    @SuppressWarnings("restricted")
    public static MethodHandle pointer(FunctionDescriptor descriptor, Linker.Option... options) {
        return Linker.nativeLinker().downcallHandle(descriptor, options);
    }
}
