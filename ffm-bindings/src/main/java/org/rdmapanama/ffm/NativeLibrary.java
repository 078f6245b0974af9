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
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.ffm.internal.SystemFunctions;

/**
 * A shared library of rdma-core, opened when it is first needed.
 *
 * <p>Nothing here fails early: a library that is not installed, or a function that the installed version lacks, yields
 * a {@link #downcall handle} that throws when it is <em>called</em>, with a message that names the package to install
 * or the version that introduced the function. An old library never prevents a class from loading. A failure to open a
 * library is not remembered: the next use tries again, even through existing handles.
 *
 * <p>The libraries are opened by the names that every run-time package has, {@code libibverbs.so.1},
 * {@code librdmacm.so.1}, {@code libmlx5.so.1} and {@code libefa.so.1}; the unversioned names exist only beside the
 * headers. The system properties {@code org.rdmapanama.libibverbs}, {@code org.rdmapanama.librdmacm}, {@code
 * org.rdmapanama.libmlx5} and {@code org.rdmapanama.libefa} name other files, which must then exist.
 *
 * <p>Call {@link #load()} before calling functions of the generated classes {@code rdma_h} of {@code
 * org.rdmapanama.ffm.verbs}, {@code mlx5dv_h} of {@code org.rdmapanama.ffm.mlx5} or {@code efadv_h} of {@code
 * org.rdmapanama.ffm.efa} directly.
 *
 * <p>Threads: any.
 */
public final class NativeLibrary {
    /** Dl_info of dlfcn.h: dli_fname, dli_fbase, dli_sname, dli_saddr. */
    private static final StructLayout DL_INFO = MemoryLayout.structLayout(ADDRESS, ADDRESS, ADDRESS, ADDRESS);

    private static final MethodHandle FAIL =
            method(NativeLibrary.class, "fail", MethodType.methodType(Object.class, String.class));

    private static final MethodHandle LATE_TARGET =
            method(Late.class, "target", MethodType.methodType(MethodHandle.class));

    /** libibverbs: devices, memory regions, queue pairs, completion queues. */
    public static final NativeLibrary IBVERBS =
            new NativeLibrary("libibverbs", "ibv_open_device", "libibverbs1 ibverbs-providers", "libibverbs");

    /** librdmacm: connections by address. */
    public static final NativeLibrary RDMACM =
            new NativeLibrary("librdmacm", "rdma_create_id", "librdmacm1", "librdmacm");

    /** libmlx5: the driver of ConnectX, and what it offers beyond verbs. */
    public static final NativeLibrary MLX5 =
            new NativeLibrary("libmlx5", "mlx5dv_is_supported", "ibverbs-providers", "libibverbs");

    /** libefa: the driver of EFA, and what it offers beyond verbs. */
    public static final NativeLibrary EFA =
            new NativeLibrary("libefa", "efadv_query_device", "ibverbs-providers", "libibverbs");

    /** Functions that are younger than rdma-core 44, the oldest version supported, with the version that has them. */
    private static final Map<String, String> SINCE = Map.of(
            "ibv_wr_opcode_str", "49", "efadv_query_mr", "50", "efadv_query_cq", "59", "efadv_query_qp_wqs", "59");

    private static final int RTLD_LAZY = 1;

    private static final Pattern VERSION_IN_FILE_NAME = Pattern.compile("\\.so\\.\\d+\\.\\d+\\.(\\d+)\\.\\d+$");

    private final String fileName;
    private final boolean named;
    private final String knownSymbol;
    private final String cure;

    /** The last message of the loader when the library could not be opened. */
    private volatile String failure = "";

    /** Whether the loader did not find the library. */
    private volatile boolean absent;

    /** Null until the library has been opened. */
    private volatile Opened opened;

    /** The opened library and its file. */
    private record Opened(SymbolLookup lookup, Path path) {}

    NativeLibrary(String name, String knownSymbol, String debianPackages, String fedoraPackages) {
        String soname = name + ".so.1";
        String property = "org.rdmapanama." + name;
        String file = System.getProperty(property);
        named = file != null;
        fileName = named ? file : soname;
        cure = named
                ? "-D" + property + " names it: correct that, or leave it out for " + soname
                : "install it with 'apt-get install " + debianPackages + "' or 'dnf install " + fedoraPackages
                        + "', or name the file with -D" + property + "=PATH";
        this.knownSymbol = knownSymbol;
    }

    /** Returns the library, opening it if necessary; null if it cannot be opened. */
    private Opened opened() {
        Opened known = opened;
        return known == null ? open() : known;
    }

    @SuppressWarnings("restricted")
    private synchronized Opened open() {
        NativeAccess.require();
        // The loader fails for want of a descriptor as it does for want of the file; with the linker's own library,
        // which
        // the first call loads, that would be for good.
        if (opened == null && FreeDescriptors.check(FreeDescriptors.TO_START) == 0) {
            try {
                SymbolLookup found = SymbolLookup.libraryLookup(fileName, Arena.global());
                opened = found.find(knownSymbol)
                        .map(symbol -> new Opened(found, fileOf(symbol)))
                        .orElse(null);
                absent = false;
                failure = opened == null ? "it is another library, without " + knownSymbol : "";
            } catch (IllegalArgumentException e) {
                findOutWhy();
                return null;
            }
        }
        return opened;
    }

    /** Calls dlopen(3) again for its message, which the JDK does not pass on. */
    @SuppressWarnings("restricted")
    private void findOutWhy() {
        MethodHandle open = SystemFunctions.downcall("dlopen", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
        MethodHandle error = SystemFunctions.downcall("dlerror", FunctionDescriptor.of(ADDRESS));
        MethodHandle describe = SystemFunctions.downcall("strerror", FunctionDescriptor.of(ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            // The message is per thread, and this thread makes no other call in between.
            MemorySegment handle = (MemorySegment) open.invokeExact(arena.allocateFrom(fileName), RTLD_LAZY);
            MemorySegment message = (MemorySegment) error.invokeExact();
            boolean failed = handle.address() == 0 && message.address() != 0;
            failure = failed ? message.reinterpret(Long.MAX_VALUE).getString(0) : "";
            // It names the library that it was looking for, which may be one that this one needs, or the file that it
            // has
            // found; and it says why in the user's language.
            String notFound = ((MemorySegment) describe.invokeExact(Errno.ENOENT))
                    .reinterpret(Long.MAX_VALUE)
                    .getString(0);
            absent = failure.contains(fileName) && !failure.contains("/" + fileName) && failure.endsWith(notFound);
        } catch (Throwable e) {
            throw new AssertionError("dlopen", e);
        }
    }

    /** Returns the error that says why the library could not be opened. */
    private UnsatisfiedLinkError missing() {
        boolean full = FreeDescriptors.check(FreeDescriptors.TO_START) < 0;
        return new UnsatisfiedLinkError(full ? fileName + " could not be opened: " + FreeDescriptors.CURE : reason());
    }

    private String reason() {
        if (isAbsent()) {
            return fileName + " was not found: " + cure;
        }
        String why = failure;
        return fileName + " could not be opened" + (why.isEmpty() ? "" : " (" + why + ")") + ": "
                + (named ? cure : "install it again, for this machine, or what it needs");
    }

    /**
     * Returns whether the library is not installed, as far as the system loader knows: no system property names a file,
     * and there is none with the usual name. A library that exists but cannot be opened is not absent, nor is one that
     * a system property names.
     *
     * @return true if it was not found; false if it was opened, or could not be opened for another reason
     */
    public boolean isAbsent() {
        return opened() == null && !named && absent;
    }

    /**
     * Returns whether the library can be used.
     *
     * @return true if it has been opened; false if it is missing or cannot be loaded, and while too many files are open
     */
    public boolean isAvailable() {
        return opened() != null;
    }

    /**
     * Makes the library's functions visible to the generated classes, which look where this class loader loads
     * libraries from.
     *
     * @throws UnsatisfiedLinkError when the library is not installed or cannot be loaded, with the package to install
     *     or the reason in the message; when too many files are open; or when another class loader has already loaded
     *     it
     */
    @SuppressWarnings("restricted")
    public void load() {
        Path file = path().orElseThrow(this::missing);
        System.load(file.toString());
    }

    /**
     * Returns the file that was opened, with symbolic links resolved.
     *
     * @return the path, or empty when the library is not installed
     */
    public Optional<Path> path() {
        Opened library = opened();
        return library == null ? Optional.empty() : Optional.ofNullable(library.path());
    }

    /**
     * Returns the major version of rdma-core that the library comes from, according to its file name: 44 for
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
     * Returns the address of a symbol.
     *
     * @param symbol the C name
     * @return the address, or empty when the library is not installed or has no such symbol
     */
    public Optional<MemorySegment> find(String symbol) {
        Opened library = opened();
        return library == null ? Optional.empty() : library.lookup().find(symbol);
    }

    /**
     * Returns a handle that calls a function of this library. If the library or the function is missing, the handle
     * throws {@link UnsatisfiedLinkError} or {@link UnsupportedOperationException} with the cure each time it is
     * invoked.
     *
     * @param function the function's C name
     * @param descriptor its signature
     * @param options linker options, such as {@link Linker.Option#captureCallState}
     * @return the handle, of the type that the linker derives from {@code descriptor} and {@code options}
     */
    public MethodHandle downcall(String function, FunctionDescriptor descriptor, Linker.Option... options) {
        if (opened() == null) {
            // The linker's handle takes the missing address as its first argument.
            MethodType type = Native.pointer(descriptor, options).type().dropParameterTypes(0, 1);
            MethodHandle target = LATE_TARGET.bindTo(new Late(this, function, descriptor, options));
            return MethodHandles.foldArguments(MethodHandles.exactInvoker(type), target);
        }
        return handle(function, descriptor, options);
    }

    /** Returns the handle; the library has been opened. */
    private MethodHandle handle(String function, FunctionDescriptor descriptor, Linker.Option... options) {
        MethodHandle linked = Native.pointer(descriptor, options);
        Optional<MemorySegment> address = find(function);
        if (address.isPresent()) {
            return linked.bindTo(address.get());
        }
        MethodType type = linked.type().dropParameterTypes(0, 1);
        MethodHandle thrower =
                MethodHandles.insertArguments(FAIL, 0, this, function).asType(MethodType.methodType(type.returnType()));
        return MethodHandles.dropArguments(thrower, 0, type.parameterList());
    }

    /**
     * A function that is linked when it is called, because its library could not be opened when its handle was made.
     */
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
     * Returns the shared library that contains an address of code, according to dladdr(3).
     *
     * @param code an address inside a loaded library
     * @return the library's file with symbolic links resolved, or null if no library contains the address
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
