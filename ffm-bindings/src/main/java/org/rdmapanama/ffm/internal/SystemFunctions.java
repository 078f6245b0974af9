package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * Functions of the C library. The linker's default lookup needs a library of the JDK; in a process that could not open a
 * file when it was first asked, it finds nothing, from then on. The C library itself is loaded in any case, and finding it
 * opens no file.
 */
public final class SystemFunctions {
    private SystemFunctions() {}

    /**
     * The address of a function.
     *
     * @param name its C name
     * @return the address, or empty when this system has no such function
     */
    @SuppressWarnings("restricted")
    public static Optional<MemorySegment> find(String name) {
        Optional<MemorySegment> found = Linker.nativeLinker().defaultLookup().find(name);
        if (found.isPresent()) {
            return found;
        }
        try {
            return SymbolLookup.libraryLookup("libc.so.6", Arena.global()).find(name);
        } catch (IllegalArgumentException notHere) {
            return Optional.empty();
        }
    }

    /**
     * A handle that calls a function.
     *
     * @param name its C name
     * @param descriptor its signature
     * @param options linker options
     * @return the handle
     */
    @SuppressWarnings("restricted")
    public static MethodHandle downcall(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        return Linker.nativeLinker().downcallHandle(find(name).orElseThrow(), descriptor, options);
    }
}
