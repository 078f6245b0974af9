package org.rdmapanama.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.SystemFunctions;

/**
 * One shared library of rdma-core, looked up when it is first needed.
 *
 * <p>Nothing here fails early: a library that is not installed, or a function that the installed version lacks,
 * yields a {@link #downcall handle} that throws when it is <em>called</em>, with a message that names the package
 * to install or the version that brought the function. Loading classes is never broken by an old library. That a library
 * could not be opened is not remembered: it is tried again the next time, by the same handles too.
 *
 * <p>The libraries are opened by the names that every run-time package has, {@code libibverbs.so.1} and
 * {@code librdmacm.so.1}; the unversioned names exist only beside the headers. The system properties
 * {@code org.rdmapanama.libibverbs} and {@code org.rdmapanama.librdmacm} name other files.
 *
 * <p>Who wants to call the functions of the generated class {@code rdma_h} of {@code org.rdmapanama.ffm.verbs} directly
 * calls {@link #load()} first.
 *
 * <p>All methods are safe for use by any thread.
 */
public final class NativeLibrary {
    /** Dl_info of dlfcn.h: dli_fname, dli_fbase, dli_sname, dli_saddr. */
    private static final StructLayout DL_INFO = MemoryLayout.structLayout(ADDRESS, ADDRESS, ADDRESS, ADDRESS);

    private static final MethodHandle FAIL =
            method(NativeLibrary.class, "fail", MethodType.methodType(Object.class, String.class));

    private static final MethodHandle LATE_TARGET =
            method(Late.class, "target", MethodType.methodType(MethodHandle.class));

    /** libibverbs: devices, memory regions, queue pairs, completion queues. */
    public static final NativeLibrary IBVERBS = new NativeLibrary(
            "libibverbs.so.1", "org.rdmapanama.libibverbs", "libibverbs1 ibverbs-providers", "libibverbs");

    /** librdmacm: connections by address, and rsockets. */
    public static final NativeLibrary RDMACM =
            new NativeLibrary("librdmacm.so.1", "org.rdmapanama.librdmacm", "librdmacm1", "librdmacm");

    /** Functions that are younger than rdma-core 44, the oldest version supported, with the version that has them. */
    private static final Map<String, String> SINCE = Map.of("ibv_wr_opcode_str", "49");

    private static final Pattern VERSION_IN_FILE_NAME = Pattern.compile("\\.so\\.\\d+\\.\\d+\\.(\\d+)\\.\\d+$");

    private final String fileName;
    private final String knownSymbol;
    private final String absence;

    /** Null as long as it could not be opened. */
    private volatile Opened opened;

    /** The library, and its file. */
    private record Opened(SymbolLookup lookup, Path path) {}

    private NativeLibrary(String soname, String property, String debianPackages, String fedoraPackages) {
        fileName = System.getProperty(property, soname);
        absence = fileName + " was not found: install it with 'apt-get install " + debianPackages + "' or 'dnf install "
                + fedoraPackages + "', or name the file with -D" + property + "=PATH";
        knownSymbol = soname.startsWith("librdmacm") ? "rdma_create_id" : "ibv_open_device";
    }

    /** The library, opened unless it is; null when that cannot be. */
    private Opened opened() {
        Opened known = opened;
        return known == null ? open() : known;
    }

    @SuppressWarnings("restricted")
    private synchronized Opened open() {
        // The loader fails for want of a descriptor as it does for want of the file; with the linker's own library,
        // which
        // the first call loads, that would be for good.
        if (opened == null && FreeDescriptors.check(FreeDescriptors.TO_START) == 0) {
            try {
                SymbolLookup found = SymbolLookup.libraryLookup(fileName, Arena.global());
                // A file of another library counts as none.
                opened = found.find(knownSymbol)
                        .map(symbol -> new Opened(found, fileOf(symbol)))
                        .orElse(null);
            } catch (IllegalArgumentException notFound) {
                return null;
            }
        }
        return opened;
    }

    /** Why it could not be opened. */
    private UnsatisfiedLinkError missing() {
        boolean full = FreeDescriptors.check(FreeDescriptors.TO_START) < 0;
        return new UnsatisfiedLinkError(full ? fileName + " could not be opened: " + FreeDescriptors.CURE : absence);
    }

    /**
     * Whether the library is installed.
     *
     * @return true when it was found and opened; false also while too many files are open to do that
     */
    public boolean isAvailable() {
        return opened() != null;
    }

    /**
     * Makes the library's functions visible to the generated class {@code rdma_h}, which looks where this class loader
     * loads libraries from.
     *
     * @throws UnsatisfiedLinkError when the library is not installed, naming the package that has it; when too many files
     *     are open; or when another class loader has done this already
     */
    @SuppressWarnings("restricted")
    public void load() {
        Path file = path().orElseThrow(this::missing);
        System.load(file.toString());
    }

    /**
     * The file that was opened, with symbolic links resolved.
     *
     * @return the path, or empty when the library is not installed
     */
    public Optional<Path> path() {
        Opened library = opened();
        return library == null ? Optional.empty() : Optional.ofNullable(library.path());
    }

    /**
     * The major version of rdma-core that the library comes from, read off the name of its file: 44 for
     * {@code libibverbs.so.1.14.44.0}.
     *
     * @return the version, or empty when the library is not installed or its file is named otherwise
     */
    public Optional<String> version() {
        return path().map(Path::toString)
                .map(VERSION_IN_FILE_NAME::matcher)
                .filter(Matcher::find)
                .map(matcher -> matcher.group(1));
    }

    /**
     * The address of a symbol.
     *
     * @param symbol its C name
     * @return the address, or empty when the library is not installed or has no such symbol
     */
    public Optional<MemorySegment> find(String symbol) {
        Opened library = opened();
        return library == null ? Optional.empty() : library.lookup().find(symbol);
    }

    /**
     * A handle that calls a function of this library, or, where the library or the function is missing, one that
     * throws {@link UnsatisfiedLinkError} or {@link UnsupportedOperationException} with the cure each time it is
     * invoked.
     *
     * @param function the function's C name
     * @param descriptor its signature
     * @param options linker options, such as {@link Linker.Option#captureCallState}
     * @return the handle, of the type that the linker derives from {@code descriptor} and {@code options}
     */
    @SuppressWarnings("restricted")
    public MethodHandle downcall(String function, FunctionDescriptor descriptor, Linker.Option... options) {
        if (opened() == null) {
            // Without an address the linker's handle takes it as first argument.
            MethodType type = linked(descriptor, options).type().dropParameterTypes(0, 1);
            MethodHandle target = LATE_TARGET.bindTo(new Late(this, function, descriptor, options));
            return MethodHandles.foldArguments(MethodHandles.exactInvoker(type), target);
        }
        return handle(function, descriptor, options);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle linked(FunctionDescriptor descriptor, Linker.Option... options) {
        return Linker.nativeLinker().downcallHandle(descriptor, options);
    }

    /** With the library opened. */
    private MethodHandle handle(String function, FunctionDescriptor descriptor, Linker.Option... options) {
        MethodHandle linked = linked(descriptor, options);
        Optional<MemorySegment> address = find(function);
        if (address.isPresent()) {
            return linked.bindTo(address.get());
        }
        MethodType type = linked.type().dropParameterTypes(0, 1);
        MethodHandle thrower =
                MethodHandles.insertArguments(FAIL, 0, this, function).asType(MethodType.methodType(type.returnType()));
        return MethodHandles.dropArguments(thrower, 0, type.parameterList());
    }

    /** A function that is linked when it is called, because its library could not be opened when its handle was made. */
    private static final class Late {
        private final NativeLibrary library;
        private final String function;
        private final FunctionDescriptor descriptor;
        private final Linker.Option[] options;
        private volatile MethodHandle handle;

        Late(NativeLibrary library, String function, FunctionDescriptor descriptor, Linker.Option... options) {
            this.library = library;
            this.function = function;
            this.descriptor = descriptor;
            this.options = options;
        }

        @SuppressWarnings("unused") // through LATE_TARGET
        MethodHandle target() {
            if (handle == null) {
                if (library.opened() == null) {
                    throw library.missing();
                }
                handle = library.handle(function, descriptor, options);
            }
            return handle;
        }
    }

    private static MethodHandle method(Class<?> owner, String name, MethodType type) {
        try {
            return MethodHandles.lookup().findVirtual(owner, name, type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private Object fail(String function) {
        throw new UnsupportedOperationException(function + " is not in the installed "
                + path().map(Path::toString).orElse(fileName)
                + version().map(version -> " (rdma-core " + version + ")").orElse("")
                + Optional.ofNullable(SINCE.get(function))
                        .map(since -> "; it came with rdma-core " + since)
                        .orElse(""));
    }

    /**
     * The shared library that an address of code lies in, as dladdr(3) tells.
     *
     * @param code an address inside a loaded library
     * @return the library's file with symbolic links resolved, or null when the address is in none
     */
    @SuppressWarnings("restricted")
    public static Path fileOf(MemorySegment code) {
        Linker linker = Linker.nativeLinker();
        Optional<MemorySegment> dladdr = SystemFunctions.find("dladdr");
        if (dladdr.isEmpty()) {
            return null;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(DL_INFO);
            int found = (int) linker.downcallHandle(dladdr.get(), FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS))
                    .invokeExact(code, info);
            if (found == 0) {
                return null;
            }
            String name = info.get(ADDRESS, 0).reinterpret(Long.MAX_VALUE).getString(0);
            return Path.of(name).toRealPath();
        } catch (IOException e) {
            return null;
        } catch (Throwable e) {
            throw new AssertionError("dladdr", e);
        }
    }
}
