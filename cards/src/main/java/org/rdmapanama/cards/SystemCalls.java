package org.rdmapanama.cards;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Functions of the C library for memory and descriptors that a kernel would give out. */
@SuppressWarnings("restricted")
final class SystemCalls {
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final int MAP_SHARED = 1;
    private static final int MAP_SHARED_ANONYMOUS = 0x21;
    private static final int MREMAP_MAYMOVE = 1;
    private static final int MFD_CLOEXEC = 1;
    private static final int AF_UNIX = 1;
    private static final int SOCK_SEQPACKET_CLOEXEC = 0x80005;
    private static final int MSG_DONTWAIT_NOSIGNAL = 0x4040;

    private static final MethodHandle MMAP = function(
            "mmap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP =
            function("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle MREMAP =
            function("mremap", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle MEMFD_CREATE =
            function("memfd_create", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle FTRUNCATE =
            function("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle SOCKETPAIR =
            function("socketpair", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle SEND =
            function("send", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle RECV =
            function("recv", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle CLOSE = function("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private SystemCalls() {}

    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), descriptor);
    }

    /** Returns the address of new memory that is zero, which the caller of mmap(2) unmaps; or -1. */
    static long map(long length) {
        return map(length, MAP_PRIVATE_ANONYMOUS, -1);
    }

    /** The same, of memory that {@link #mapAgain} can map once more. */
    static long mapShared(long length) {
        return map(length, MAP_SHARED_ANONYMOUS, -1);
    }

    /** Returns another address of memory that {@link #mapShared} has mapped, which is unmapped by itself; or -1. */
    static long mapAgain(long address, long length) {
        try {
            return (long) MREMAP.invokeExact(address, 0L, length, MREMAP_MAYMOVE);
        } catch (Throwable ex) {
            throw new IllegalStateException(ex);
        }
    }

    static void unmap(long address, long length) {
        try {
            int unused = (int) MUNMAP.invokeExact(address, length);
        } catch (Throwable ex) {
            throw new IllegalStateException(ex);
        }
    }

    private static long map(long length, int flags, int file) {
        try {
            return (long) MMAP.invokeExact(0L, length, PROT_READ_WRITE, flags, file, 0L);
        } catch (Throwable ex) {
            throw new IllegalStateException(ex);
        }
    }

    /**
     * Memory of a card that a provider maps, and unmaps before it tells the kernel that the queue is destroyed: the card
     * has a mapping of its own.
     *
     * @param file its descriptor
     * @param address where the card sees it
     */
    record SharedPages(int file, long address, long length) {
        /** Returns new pages that are zero. */
        static SharedPages of(long length) {
            try (Arena arena = Arena.ofConfined()) {
                int file = (int)
                        MEMFD_CREATE.invokeExact(arena.allocateFrom("card").address(), MFD_CLOEXEC);
                if (file < 0 || (int) FTRUNCATE.invokeExact(file, length) != 0) {
                    throw new IllegalStateException("memfd_create failed: too many open files?");
                }
                long address = map(length, MAP_SHARED, file);
                if (address == -1) {
                    throw new IllegalStateException("mmap failed: too little memory?");
                }
                return new SharedPages(file, address, length);
            } catch (RuntimeException ex) {
                throw ex;
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }

        /** Returns where a program sees them, which the program unmaps; or -1. */
        long mapForProgram(long bytes) {
            return map(bytes, MAP_SHARED, file);
        }

        /** Ends the card's mapping. */
        void free() {
            try {
                int unused = (int) MUNMAP.invokeExact(address, length) + (int) CLOSE.invokeExact(file);
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }
    }

    /** Two descriptors between which records go, each read as a whole. */
    record Records(int readEnd, int writeEnd) {
        static Records open() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment ends = arena.allocate(JAVA_INT, 2);
                if ((int) SOCKETPAIR.invokeExact(AF_UNIX, SOCK_SEQPACKET_CLOEXEC, 0, ends.address()) != 0) {
                    throw new IllegalStateException("socketpair failed: too many open files?");
                }
                return new Records(ends.getAtIndex(JAVA_INT, 0), ends.getAtIndex(JAVA_INT, 1));
            } catch (RuntimeException ex) {
                throw ex;
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }

        /** Writes a record, which is lost if the reader is gone. */
        void write(long address, long length) {
            try {
                long unused = (long) SEND.invokeExact(writeEnd, address, length, MSG_DONTWAIT_NOSIGNAL);
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }

        /** Reads a record that the reader has not read. Returns false if there is none. */
        boolean takeBack(long address, long length) {
            try {
                return (long) RECV.invokeExact(readEnd, address, length, MSG_DONTWAIT_NOSIGNAL) == length;
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }

        void closeWriteEnd() {
            try {
                int unused = (int) CLOSE.invokeExact(writeEnd);
            } catch (Throwable ex) {
                throw new IllegalStateException(ex);
            }
        }
    }
}
