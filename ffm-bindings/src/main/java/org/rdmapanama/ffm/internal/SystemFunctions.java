package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * Finds functions of the C library. The linker's default lookup needs a library of the JDK; if the process cannot open
 * a file when it is first used, it never finds anything from then on. The C library itself is always loaded, and
 * finding it here opens no file.
 */
public final class SystemFunctions {
    private SystemFunctions() {}

    /**
     * Returns the address of a function.
     *
     * @param name the C name
     * @return the address, or empty if this system has no such function
     */
    @SuppressWarnings("restricted")
    public static Optional<MemorySegment> find(String name) {
        NativeAccess.require();
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
     * Returns a handle that calls a function.
     *
     * @param name the C name
     * @param descriptor the signature
     * @param options linker options
     * @return the handle
     */
    @SuppressWarnings("restricted")
    public static MethodHandle downcall(String name, FunctionDescriptor descriptor, Linker.Option... options) {
        return Linker.nativeLinker().downcallHandle(find(name).orElseThrow(), descriptor, options);
    }
}
