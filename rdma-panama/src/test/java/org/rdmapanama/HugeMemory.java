package org.rdmapanama;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rdmapanama.testing.LabDevices;

/**
 * A very large range of addresses over little memory: a small file of huge pages, mapped again and again, one behind
 * the other. The guest of the lab has no room, and no time, to pin gigabytes of pages of their own.
 */
final class HugeMemory implements AutoCloseable {
    private static final long HUGE_PAGE = 2L << 20;

    /** A number of pages that divides no power of two: two places a power of two apart do not share memory. */
    private static final long PIECE = 33 * HUGE_PAGE;

    private static final int MFD_HUGETLB = 4;
    private static final int PROT_NONE = 0;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_SHARED = 1;
    private static final int MAP_PRIVATE = 2;
    private static final int MAP_FIXED = 0x10;
    private static final int MAP_ANONYMOUS = 0x20;
    private static final int MAP_NORESERVE = 0x4000;

    private static final MethodHandle MEMFD_CREATE =
            function("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle FTRUNCATE =
            function("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MMAP = function(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP =
            function("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle CLOSE = function("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final long reserved;
    private final long reservedSize;
    private final MemorySegment memory;

    private HugeMemory(long reserved, long reservedSize, MemorySegment memory) {
        this.reserved = reserved;
        this.reservedSize = reservedSize;
        this.memory = memory;
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), descriptor);
    }

    @SuppressWarnings("restricted")
    static HugeMemory map(long size) {
        LabDevices.assumeSoftRoce("the test sets huge pages aside");
        try (Arena arena = Arena.ofConfined()) {
            Files.writeString(Path.of("/proc/sys/vm/nr_hugepages"), Long.toString(PIECE / HUGE_PAGE));
            int file = (int) MEMFD_CREATE.invokeExact(arena.allocateFrom("huge"), MFD_HUGETLB);
            assertTrue((int) FTRUNCATE.invokeExact(file, PIECE) == 0, "ftruncate of a file of huge pages");
            long reservedSize = size + PIECE + HUGE_PAGE;
            long reserved = (long)
                    MMAP.invokeExact(0L, reservedSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
            long start = (reserved + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
            for (long at = 0; at < size; at += PIECE) {
                long mapped =
                        (long) MMAP.invokeExact(start + at, PIECE, PROT_READ_WRITE, MAP_SHARED | MAP_FIXED, file, 0L);
                assertTrue(mapped == start + at, "mmap of huge pages");
            }
            assertTrue((int) CLOSE.invokeExact(file) == 0, "close");
            return new HugeMemory(
                    reserved, reservedSize, MemorySegment.ofAddress(start).reinterpret(size));
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** In the global scope: unmapped by {@link #close} all the same. */
    MemorySegment memory() {
        return memory;
    }

    @Override
    public void close() {
        try {
            assertTrue((int) MUNMAP.invokeExact(reserved, reservedSize) == 0, "munmap");
            Files.writeString(Path.of("/proc/sys/vm/nr_hugepages"), "0");
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }
}
