package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** poll(2) and fcntl(2), for waits with a timeout, and the functions that inline functions of verbs.h call. */
public final class Libc {
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 0x800;
    private static final short POLLIN = 1;

    private static final MethodHandle POLL = SystemFunctions.downcall(
            "poll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle FCNTL = SystemFunctions.downcall(
            "fcntl",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
            Errno.CAPTURE,
            Linker.Option.firstVariadicArg(2));

    private static final MethodHandle PTHREAD_MUTEX_INIT =
            SystemFunctions.downcall("pthread_mutex_init", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle PTHREAD_COND_INIT =
            SystemFunctions.downcall("pthread_cond_init", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));

    private Libc() {}

    /**
     * Waits until a file descriptor is readable.
     *
     * @param fd the descriptor
     * @param timeoutMillis how long to wait at most, in milliseconds
     * @return 1 if it is readable, 0 after the timeout or a signal, or a negated errno
     */
    public static int awaitReadable(int fd, int timeoutMillis) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pollfd = arena.allocate(8, 4);
            pollfd.set(JAVA_INT, 0, fd);
            pollfd.set(JAVA_SHORT, 4, POLLIN);
            long address = pollfd.address();
            int ready = Errno.result(errno -> (int) POLL.invokeExact(errno, address, 1L, timeoutMillis));
            return ready == -Errno.EINTR ? 0 : ready;
        }
    }

    /**
     * Makes reads of a file descriptor return EAGAIN instead of waiting.
     *
     * @param fd the descriptor
     * @return 0 or a negated errno
     */
    public static int setNonBlocking(int fd) {
        int flags = Errno.result(errno -> (int) FCNTL.invokeExact(errno, fd, F_GETFL, 0));
        return flags < 0
                ? flags
                : Errno.result(errno -> (int) FCNTL.invokeExact(errno, fd, F_SETFL, flags | O_NONBLOCK));
    }

    /**
     * pthread_mutex_init and pthread_cond_init with default attributes, which never fail.
     *
     * @param mutex a pthread_mutex_t
     * @param condition a pthread_cond_t
     */
    public static void initialize(long mutex, long condition) {
        try {
            int ignored = (int) PTHREAD_MUTEX_INIT.invokeExact(mutex, 0L);
            ignored = (int) PTHREAD_COND_INIT.invokeExact(condition, 0L);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
