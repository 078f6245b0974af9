package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/**
 * The errno values of Linux, and the conversion of results of C functions into one convention: a negated errno means
 * failure. Stateless.
 */
public final class Errno {
    /** Operation not permitted. */
    public static final int EPERM = 1;

    /** No such file or directory. */
    public static final int ENOENT = 2;

    /** Interrupted system call. */
    public static final int EINTR = 4;

    /** Input/output error. */
    public static final int EIO = 5;

    /** No such device or address. */
    public static final int ENXIO = 6;

    /** Bad file descriptor. */
    public static final int EBADF = 9;

    /** Resource temporarily unavailable. */
    public static final int EAGAIN = 11;

    /** Cannot allocate memory. */
    public static final int ENOMEM = 12;

    /** Permission denied. */
    public static final int EACCES = 13;

    /** Bad address. */
    public static final int EFAULT = 14;

    /** Device or resource busy. */
    public static final int EBUSY = 16;

    /** File exists. */
    public static final int EEXIST = 17;

    /** No such device. */
    public static final int ENODEV = 19;

    /** Invalid argument. */
    public static final int EINVAL = 22;

    /** Too many open files in system. */
    public static final int ENFILE = 23;

    /** Too many open files. */
    public static final int EMFILE = 24;

    /** No space left on device. */
    public static final int ENOSPC = 28;

    /** Broken pipe: the peer has closed the connection. */
    public static final int EPIPE = 32;

    /** Numerical result out of range. */
    public static final int ERANGE = 34;

    /** Function not implemented. */
    public static final int ENOSYS = 38;

    /** No data available. */
    public static final int ENODATA = 61;

    /** Protocol error. */
    public static final int EPROTO = 71;

    /** Value too large for defined data type. */
    public static final int EOVERFLOW = 75;

    /** File descriptor in bad state. */
    public static final int EBADFD = 77;

    /** Message too long. */
    public static final int EMSGSIZE = 90;

    /** Protocol not supported. */
    public static final int EPROTONOSUPPORT = 93;

    /** Operation not supported. */
    public static final int EOPNOTSUPP = 95;

    /** Address already in use. */
    public static final int EADDRINUSE = 98;

    /** Cannot assign requested address. */
    public static final int EADDRNOTAVAIL = 99;

    /** Network is down. */
    public static final int ENETDOWN = 100;

    /** Network is unreachable. */
    public static final int ENETUNREACH = 101;

    /** Connection reset by peer. */
    public static final int ECONNRESET = 104;

    /** No buffer space available. */
    public static final int ENOBUFS = 105;

    /** Transport endpoint is already connected. */
    public static final int EISCONN = 106;

    /** Transport endpoint is not connected. */
    public static final int ENOTCONN = 107;

    /** Connection timed out. */
    public static final int ETIMEDOUT = 110;

    /** Connection refused. */
    public static final int ECONNREFUSED = 111;

    /** No route to host. */
    public static final int EHOSTUNREACH = 113;

    /** Operation already in progress. */
    public static final int EALREADY = 114;

    /** Operation now in progress. */
    public static final int EINPROGRESS = 115;

    /** A linker option that makes a handle take a segment of {@link #allocate} first, to store errno in. */
    public static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

    private Errno() {}

    /**
     * Allocates memory for the errno of a call.
     *
     * @param arena the arena to allocate from
     * @return the memory
     */
    public static MemorySegment allocate(Arena arena) {
        return arena.allocate(STATE);
    }

    /** A call that returns a pointer. */
    @FunctionalInterface
    public interface PointerCall {
        /**
         * Calls the function.
         *
         * @param state the segment for its errno
         * @return the result of the function
         * @throws Throwable as method handles declare it
         */
        long call(MemorySegment state) throws Throwable;
    }

    /** A call that returns an int. */
    @FunctionalInterface
    public interface IntCall {
        /**
         * Calls the function.
         *
         * @param state the segment for its errno
         * @return the result of the function
         * @throws Throwable as method handles declare it
         */
        int call(MemorySegment state) throws Throwable;
    }

    /**
     * Calls a function that returns a pointer, or NULL on failure with errno set.
     *
     * @param function the call
     * @return the pointer, or a negated errno
     */
    public static long pointer(PointerCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = allocate(arena);
            long result = function.call(state);
            return result != 0 ? result : -captured(state);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Calls a function that returns zero on success. On failure it returns an errno in most of libibverbs, -1 with
     * errno set in older parts of it, and a negated errno in some drivers.
     *
     * @param function the call
     * @return zero, or a negated errno
     */
    public static int status(IntCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = allocate(arena);
            int result = function.call(state);
            return result == -1 ? -captured(state) : status(result);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Calls a function that returns zero or more on success, or -1 on failure with errno set.
     *
     * @param function the call
     * @return the result of the function, or a negated errno
     */
    public static int result(IntCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = allocate(arena);
            int result = function.call(state);
            return result >= 0 ? result : -captured(state);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Converts a result like {@link #status(IntCall)}, for functions whose errno is not captured, so that -1 has no
     * known reason.
     *
     * @param result the result of a function
     * @return zero, or a negated errno
     */
    public static int status(int result) {
        if (result == -1) {
            return -EIO;
        }
        return result > 0 ? -result : result;
    }

    /**
     * Returns the errno of a failed call, or EIO if the call did not set it.
     *
     * @param state the segment for the call's errno
     * @return the errno, positive
     */
    public static int captured(MemorySegment state) {
        int errno = (int) ERRNO.get(state, 0L);
        return errno > 0 ? errno : EIO;
    }

    /**
     * Rethrows what a method handle threw. Linked functions throw only unchecked exceptions, for example when a
     * function is missing.
     *
     * @param e the exception or error; errors are thrown at once
     * @return the exception, for the caller to throw
     */
    public static RuntimeException rethrow(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException exception) {
            throw exception;
        }
        throw new AssertionError(e);
    }
}
