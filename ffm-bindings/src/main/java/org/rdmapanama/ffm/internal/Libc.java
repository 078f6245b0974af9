package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * What waits for descriptors are made of, poll(2), epoll(7), eventfd(2) and fcntl(2), and the functions that inline
 * functions of verbs.h call. Stateless; any thread may call it.
 */
public final class Libc {
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 0x800;
    private static final short POLLIN = 1;
    private static final int POLLFD_BYTES = 8;

    /** O_NONBLOCK and O_CLOEXEC, for eventfd. */
    private static final int EVENTFD_FLAGS = O_NONBLOCK | 0x80000;

    private static final int EPOLL_CLOEXEC = 0x80000;
    private static final int EPOLL_CTL_ADD = 1;
    private static final int EPOLL_CTL_DEL = 2;
    private static final int EPOLL_CTL_MOD = 3;
    private static final int EPOLLIN_ONESHOT = 1 | 1 << 30;

    /** On x86-64 struct epoll_event is packed. */
    private static final boolean PACKED = System.getProperty("os.arch").equals("amd64");

    /** The size of a struct epoll_event. */
    static final int EPOLL_EVENT_BYTES = PACKED ? 12 : 16;

    private static final int EPOLL_DATA = PACKED ? 4 : 8;

    /** The descriptors that {@link #awaitEither} needs memory for. */
    static final int EITHER_BYTES = 2 * POLLFD_BYTES;

    // Without errno where a call is made again and again: capturing it allocates until the compiler takes the whole
    // call in.
    private static final MethodHandle POLL =
            SystemFunctions.downcall("poll", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT));
    private static final MethodHandle FCNTL = SystemFunctions.downcall(
            "fcntl",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
            Errno.CAPTURE,
            Linker.Option.firstVariadicArg(2));

    /** Functions that only Linux has. In a class of their own, so that other systems can use the rest. */
    private static final class Linux {
        private static final MethodHandle READ =
                SystemFunctions.downcall("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
        private static final MethodHandle WRITE =
                SystemFunctions.downcall("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG));
        private static final MethodHandle GETEUID =
                SystemFunctions.downcall("geteuid", FunctionDescriptor.of(JAVA_INT));
        private static final MethodHandle CLOSE =
                SystemFunctions.downcall("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT), Errno.CAPTURE);
        private static final MethodHandle EVENTFD =
                SystemFunctions.downcall("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), Errno.CAPTURE);
        private static final MethodHandle EPOLL_CREATE =
                SystemFunctions.downcall("epoll_create1", FunctionDescriptor.of(JAVA_INT, JAVA_INT), Errno.CAPTURE);
        private static final FunctionDescriptor EPOLL_CTL_TYPE =
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);
        private static final MethodHandle EPOLL_CTL = SystemFunctions.downcall("epoll_ctl", EPOLL_CTL_TYPE);
        private static final MethodHandle EPOLL_CTL_WITH_ERRNO =
                SystemFunctions.downcall("epoll_ctl", EPOLL_CTL_TYPE, Errno.CAPTURE);
        private static final MethodHandle EPOLL_WAIT = SystemFunctions.downcall(
                "epoll_wait", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT), Errno.CAPTURE);
    }

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
     * @return greater than 0 if it is readable, closed or failed, 0 otherwise
     */
    public static int awaitReadable(int fd, int timeoutMillis) {
        try (Scratch scratch = Scratch.take()) {
            // poll ignores a negative descriptor.
            return awaitEither(scratch.memory(), fd, -1, timeoutMillis);
        }
    }

    /**
     * Waits until one of two file descriptors is readable. Allocates nothing.
     *
     * @param memory {@link #EITHER_BYTES} of memory
     * @return greater than 0 if one is readable, closed or failed, 0 otherwise: after the timeout or a signal
     */
    static int awaitEither(MemorySegment memory, int fd, int other, int timeoutMillis) {
        memory.set(JAVA_INT, 0, fd);
        memory.set(JAVA_SHORT, 4, POLLIN);
        memory.set(JAVA_INT, POLLFD_BYTES, other);
        memory.set(JAVA_SHORT, POLLFD_BYTES + 4, POLLIN);
        try {
            return Math.max(0, (int) POLL.invokeExact(memory.address(), 2L, timeoutMillis));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** Returns whether the last {@link #awaitEither} with this memory found the other descriptor readable. */
    static boolean isOtherReadable(MemorySegment memory) {
        return memory.get(JAVA_SHORT, POLLFD_BYTES + 6) != 0;
    }

    /**
     * geteuid(2): the user that files which this process creates belong to, on Linux.
     *
     * @return the number of the user
     */
    public static int effectiveUser() {
        try {
            return (int) Linux.GETEUID.invokeExact();
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** close(2). */
    static void close(int fd) {
        Errno.result(errno -> (int) Linux.CLOSE.invokeExact(errno, fd));
    }

    /** eventfd(2), non-blocking: a descriptor or a negated errno. */
    static int eventDescriptor() {
        return Errno.result(errno -> (int) Linux.EVENTFD.invokeExact(errno, 0, EVENTFD_FLAGS));
    }

    /** Reads the 8 bytes of an eventfd, after which it is not readable. Does nothing if it was not. */
    static void clear(int eventDescriptor, MemorySegment eightBytes) {
        try {
            long ignored = (long) Linux.READ.invokeExact(eventDescriptor, eightBytes.address(), 8L);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** Makes an eventfd readable. */
    static void set(int eventDescriptor, MemorySegment one) {
        try {
            long ignored = (long) Linux.WRITE.invokeExact(eventDescriptor, one.address(), 8L);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** epoll_create1(2): a descriptor or a negated errno. */
    static int epoll() {
        return Errno.result(errno -> (int) Linux.EPOLL_CREATE.invokeExact(errno, EPOLL_CLOEXEC));
    }

    /**
     * Makes epoll tell once that a descriptor is readable, at once if it is. Allocates nothing.
     *
     * @param event {@link #EPOLL_EVENT_BYTES} of memory
     * @param errno memory for errno
     * @param known whether epoll knows the descriptor already
     * @param cookie what epoll returns for it
     * @return 0 or a negated errno
     */
    static int arm(int epoll, MemorySegment event, MemorySegment errno, int fd, boolean known, long cookie) {
        event.set(JAVA_INT, 0, EPOLLIN_ONESHOT);
        event.set(JAVA_LONG_UNALIGNED, EPOLL_DATA, cookie);
        return control(epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, event, errno);
    }

    /** Makes epoll tell of a descriptor as long as it is readable. Returns 0 or a negated errno. */
    static int watch(int epoll, MemorySegment event, MemorySegment errno, int fd) {
        event.set(JAVA_INT, 0, POLLIN);
        event.set(JAVA_LONG_UNALIGNED, EPOLL_DATA, fd);
        return control(epoll, EPOLL_CTL_ADD, fd, event, errno);
    }

    /** Makes epoll forget a descriptor. Returns 0 or a negated errno. */
    static int forget(int epoll, MemorySegment event, MemorySegment errno, int fd) {
        return control(epoll, EPOLL_CTL_DEL, fd, event, errno);
    }

    private static int control(int epoll, int operation, int fd, MemorySegment event, MemorySegment errno) {
        try {
            if ((int) Linux.EPOLL_CTL.invokeExact(epoll, operation, fd, event.address()) == 0) {
                return 0;
            }
            // It fails for the same reason once more, or not any longer.
            int result = (int) Linux.EPOLL_CTL_WITH_ERRNO.invokeExact(errno, epoll, operation, fd, event.address());
            return result == 0 ? 0 : -Errno.captured(errno);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * Waits without a timeout until epoll has something to tell.
     *
     * @param events memory for so many times {@link #EPOLL_EVENT_BYTES}
     * @param errno memory for errno
     * @return how many, 0 after a signal, or a negated errno
     */
    static int awaitEpoll(int epoll, MemorySegment events, MemorySegment errno) {
        int most = (int) (events.byteSize() / EPOLL_EVENT_BYTES);
        try {
            int count = (int) Linux.EPOLL_WAIT.invokeExact(errno, epoll, events.address(), most, -1);
            if (count >= 0) {
                return count;
            }
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
        int reason = Errno.captured(errno);
        return reason == Errno.EINTR ? 0 : -reason;
    }

    /** Returns the cookie of one of the events that {@link #awaitEpoll} stored. */
    static long cookie(MemorySegment events, int index) {
        return events.get(JAVA_LONG_UNALIGNED, (long) index * EPOLL_EVENT_BYTES + EPOLL_DATA);
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
