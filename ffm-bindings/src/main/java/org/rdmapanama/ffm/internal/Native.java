package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Creates views of C structures that native code owns, and what else the JVM allows only to modules with native access.
 * The caller is responsible for addresses and lifetimes.
 */
public final class Native {
    /**
     * All memory, indexed by address, without any checks: for memory that the caller knows to exist, where creating a
     * view would cost more than the access. No memory where the JVM does not allow it.
     */
    public static final MemorySegment MEMORY = NativeAccess.ALLOWED ? struct(0, Long.MAX_VALUE) : MemorySegment.NULL;

    /**
     * Masks an address as an index of {@link #MEMORY}, which changes no address that a process can have. The compiler then
     * knows that it lies within, and leaves out the check.
     */
    public static final long INDEXES = 0x3fff_ffff_ffff_ffffL;

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
        return NativeAccess.ALLOWED ? MemorySegment.ofAddress(address).reinterpret(byteSize) : known(address, byteSize);
    }

    /** Less than asked for at the end of a segment: the caller may not know how long a string is. */
    private static MemorySegment known(long address, long byteSize) {
        MemorySegment memory = KnownMemory.at(address, 1);
        return memory.asSlice(0, Math.min(byteSize, memory.byteSize()));
    }

    /**
     * Returns memory that the caller knows to exist, and in which an address has the index that {@link #index} returns. This
     * allocates nothing where the JVM allows access to all memory.
     *
     * @param address the address
     * @param bytes how many bytes from there on the caller uses
     * @return the memory
     */
    public static MemorySegment at(long address, long bytes) {
        return NativeAccess.ALLOWED ? MEMORY : KnownMemory.at(address, bytes);
    }

    /**
     * Returns the index of an address in the memory that {@link #at} returns for it.
     *
     * @param address the address
     * @return the index
     */
    public static long index(long address) {
        return NativeAccess.ALLOWED ? address : 0;
    }

    /** The same for the accesses below, which check neither bounds nor alignment: that would cost more than the access. */
    private static long uncheckedIndex(long address) {
        return index(address) & INDEXES;
    }

    /**
     * Reads memory that the caller knows to exist.
     *
     * @param address its address, a multiple of four
     * @return the value
     */
    public static int getInt(long address) {
        return at(address, Integer.BYTES).get(ValueLayout.JAVA_INT_UNALIGNED, uncheckedIndex(address));
    }

    /**
     * Reads memory that the caller knows to exist.
     *
     * @param address its address, a multiple of eight
     * @return the value
     */
    public static long getLong(long address) {
        return at(address, Long.BYTES).get(ValueLayout.JAVA_LONG_UNALIGNED, uncheckedIndex(address));
    }

    /**
     * Writes to memory that the caller knows to exist.
     *
     * @param address its address, a multiple of four
     * @param value the value
     */
    public static void putInt(long address, int value) {
        at(address, Integer.BYTES).set(ValueLayout.JAVA_INT_UNALIGNED, uncheckedIndex(address), value);
    }

    /**
     * Writes to memory that the caller knows to exist.
     *
     * @param address its address, a multiple of eight
     * @param value the value
     */
    public static void putLong(long address, long value) {
        at(address, Long.BYTES).set(ValueLayout.JAVA_LONG_UNALIGNED, uncheckedIndex(address), value);
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
