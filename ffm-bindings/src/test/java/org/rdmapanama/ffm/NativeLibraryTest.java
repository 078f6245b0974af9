package org.rdmapanama.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.ffm.efa.efadv_device_attr;
import org.rdmapanama.ffm.efa.efadv_h;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.mlx5.mlx5dv_h;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.ffm.verbs.verbs_context;

/** The libraries that are installed, and what happens when they, or functions of them, are not. */
class NativeLibraryTest {
    @Test
    void shouldFindTheInstalledLibraries() {
        assertTrue(NativeLibrary.IBVERBS.isAvailable());
        assertTrue(NativeLibrary.RDMACM.isAvailable());
        assertTrue(Integer.parseInt(NativeLibrary.IBVERBS.version().orElseThrow()) >= 44);
        assertEquals(NativeLibrary.IBVERBS.version(), NativeLibrary.RDMACM.version());
    }

    @Test
    void shouldFindTheDriversOfTheInstalledLibrary() {
        for (NativeLibrary driver : List.of(NativeLibrary.MLX5, NativeLibrary.EFA)) {
            assertTrue(driver.isAvailable());
            assertEquals(NativeLibrary.IBVERBS.version(), driver.version());
        }
    }

    @Test
    void shouldLetTheGeneratedClassCallBothLibraries() {
        NativeLibrary.IBVERBS.load();
        NativeLibrary.RDMACM.load();
        // Functions that need no device: a status as text, an event as text.
        assertEquals("success", text(rdma_h.ibv_wc_status_str(0)));
        assertEquals("RDMA_CM_EVENT_ADDR_RESOLVED", text(rdma_h.rdma_event_str(0)));
    }

    /** The bindings do not say how many bytes are behind a pointer. */
    private static String text(MemorySegment pointer) {
        return Native.struct(pointer.address(), 64).getString(0);
    }

    /** Both are asked about a device of another driver, and need none of their own. */
    @Test
    void shouldLetTheGeneratedClassesCallTheDrivers() {
        NativeLibrary.MLX5.load();
        NativeLibrary.EFA.load();
        try (Arena arena = Arena.ofConfined()) {
            // Drivers keep more behind a device, and libibverbs keeps more before a context.
            MemorySegment device = arena.allocate(2 * ibv_device.sizeof());
            MemorySegment context = arena.allocate(verbs_context.sizeof()).asSlice(verbs_context.context$offset());
            ibv_context.device(context, device);
            ibv_context.abi_compat(context, MemorySegment.ofAddress(-1)); // __VERBS_ABI_IS_EXTENDED
            assertFalse(mlx5dv_h.mlx5dv_is_supported(device));
            MemorySegment attributes = arena.allocate(efadv_device_attr.layout());
            assertEquals(Errno.EOPNOTSUPP, efadv_h.efadv_query_device(context, attributes, (int)
                    efadv_device_attr.sizeof()));
        }
    }

    @Test
    void shouldCallWhatTheLibraryHas() throws Throwable {
        MethodHandle rateToMult =
                NativeLibrary.IBVERBS.downcall("ibv_rate_to_mult", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        assertEquals(4, (int) rateToMult.invokeExact(rdma_h.IBV_RATE_10_GBPS()));
    }

    @Test
    void shouldFailOnlyWhenAMissingFunctionIsCalled() {
        MethodHandle missing = NativeLibrary.IBVERBS.downcall(
                "ibv_from_the_future", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT));
        UnsupportedOperationException failure = assertThrows(UnsupportedOperationException.class, () -> {
            long ignored = (long) missing.invokeExact(1L, 2);
        });
        assertTrue(failure.getMessage().startsWith("ibv_from_the_future is not in the installed"));
        assertTrue(failure.getMessage().contains("libibverbs.so.1"));
    }

    @Test
    void shouldMimicTheTypeOfAMissingFunctionThatCapturesErrno() {
        MethodHandle missing = NativeLibrary.IBVERBS.downcall(
                "ibv_from_the_future", FunctionDescriptor.ofVoid(JAVA_LONG), Linker.Option.captureCallState("errno"));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = arena.allocate(Linker.Option.captureStateLayout());
            assertThrows(UnsupportedOperationException.class, () -> {
                missing.invokeExact(errno, 1L);
            });
        }
    }

    @Test
    void shouldNameTheVersionThatBroughtAFunction() throws Exception {
        // The libraries of rdma-core 44 to 48 lack the first one, and those to 49 the second one.
        assertSince(49, NativeLibrary.IBVERBS, "ibv_wr_opcode_str");
        assertSince(50, NativeLibrary.EFA, "efadv_query_mr");
    }

    private static void assertSince(int version, NativeLibrary library, String function) {
        int installed = Integer.parseInt(library.version().orElseThrow());
        MethodHandle handle = library.downcall(function, FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
        if (installed < version) {
            UnsupportedOperationException failure =
                    assertThrows(UnsupportedOperationException.class, () -> handle.invoke(0));
            assertTrue(
                    failure.getMessage().endsWith("(rdma-core " + installed + "); it came with rdma-core " + version));
        } else {
            assertTrue(library.find(function).isPresent());
        }
    }

    private static String messageOf(NativeLibrary library) {
        assertFalse(library.isAvailable());
        MethodHandle openDevice = library.downcall("ibv_open_device", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
        return assertThrows(UnsatisfiedLinkError.class, () -> {
                    long ignored = (long) openDevice.invokeExact(0L);
                })
                .getMessage();
    }

    @Test
    void shouldNameThePackagesOfAMissingLibrary() {
        NativeLibrary missing =
                new NativeLibrary("libnothing", "ibv_open_device", "libibverbs1 ibverbs-providers", "libibverbs");
        assertEquals(
                "libnothing.so.1 was not found: install it with 'apt-get install libibverbs1"
                        + " ibverbs-providers' or 'dnf install libibverbs', or name the file with"
                        + " -Dorg.rdmapanama.libnothing=PATH",
                messageOf(missing));
        assertTrue(missing.isAbsent());
        assertFalse(NativeLibrary.IBVERBS.isAbsent());
    }

    @Test
    void shouldNotTakeALibraryThatCannotBeLoadedForAMissingOne(@TempDir Path folder) throws Exception {
        Path broken = Files.writeString(folder.resolve("libibverbs.so.1"), "no library");
        String output = output("LD_LIBRARY_PATH=" + folder, "-Dnothing", WithoutLibrary.class);
        assertTrue(output.startsWith("false, libibverbs.so.1 could not be opened (" + broken + ": "), output);
        assertTrue(output.endsWith("): install it again, for this machine, or what it needs"), output);
    }

    @Test
    void shouldNotTakeALibraryThatIsNamedForAMissingOne() throws Exception {
        String output = output("-Dorg.rdmapanama.libibverbs=/nowhere/libibverbs.so.1", WithoutLibrary.class);
        assertTrue(output.startsWith("false, /nowhere/libibverbs.so.1 could not be opened ("), output);
        assertTrue(
                output.endsWith(
                        "): -Dorg.rdmapanama.libibverbs names it: correct that, or leave it out for libibverbs.so.1"),
                output);
    }

    @Test
    void shouldTellWhichLibraryCodeLiesIn() {
        Path file =
                NativeLibrary.fileOf(NativeLibrary.RDMACM.find("rdma_create_id").orElseThrow());
        assertEquals(NativeLibrary.RDMACM.path().orElseThrow(), file);
    }

    /** Neither the library nor the JDK's own lookup of functions, which the generated class asks first. */
    @Test
    void shouldFindALibraryLaterThatCouldNotBeOpenedAtFirst() throws Exception {
        String message = output("-Dnothing", WithoutDescriptors.class);
        assertEquals(
                "libibverbs.so.1 could not be opened: the process has too many open files: close some, or raise the limit"
                        + " with 'ulimit -n'; then 4",
                message);
    }

    /** The libraries are opened once in a JVM, so another one is needed to miss them. */
    private static String output(String property, Class<?> main) throws IOException, InterruptedException {
        return output("NOTHING=", property, main);
    }

    private static String output(String environment, String property, Class<?> main)
            throws IOException, InterruptedException {
        Process process = new ProcessBuilder(List.of(
                        "bash",
                        "-c",
                        "ulimit -n 200 && exec env \"$0\" \"$@\"",
                        environment,
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        property,
                        "-cp",
                        System.getProperty("java.class.path"),
                        main.getName()))
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), output);
        return output.strip();
    }

    /** Has no descriptor at first; prints what a call says then, and later. */
    static final class WithoutDescriptors {
        private WithoutDescriptors() {}

        @SuppressWarnings("try") // it is only there
        public static void main(String[] args) throws Throwable {
            Descriptors.loadClasses(NativeLibrary.class);
            Descriptors.loadClasses(WithoutDescriptors.class);
            MethodHandle rateToMult;
            boolean available;
            try (Descriptors none = Descriptors.leave(0)) {
                available = NativeLibrary.IBVERBS.isAvailable() || rdma_h.IBV_ACCESS_REMOTE_READ() != 4;
                rateToMult =
                        NativeLibrary.IBVERBS.downcall("ibv_rate_to_mult", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
                try {
                    int ignored = (int) rateToMult.invokeExact(0);
                } catch (UnsatisfiedLinkError e) {
                    System.out.print(e.getMessage());
                }
            }
            System.out.println("; then " + (int) rateToMult.invokeExact(rdma_h.IBV_RATE_10_GBPS()));
            assertFalse(available);
            assertTrue(NativeLibrary.IBVERBS.path().isPresent(), "by dladdr");
        }
    }

    /** Uses everything that must keep working, and prints what a call says. */
    static final class WithoutLibrary {
        private WithoutLibrary() {}

        public static void main(String[] args) throws Throwable {
            assertFalse(NativeLibrary.IBVERBS.isAvailable());
            assertEquals(4, rdma_h.IBV_ACCESS_REMOTE_READ());
            System.out.println(NativeLibrary.IBVERBS.isAbsent() + ", " + messageOf(NativeLibrary.IBVERBS));
        }
    }
}
