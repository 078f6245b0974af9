package org.rdmapanama.ffm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/** Turns what C functions return, and the errno they leave, into one convention: a negated errno is failure. */
public final class Errno {
    /** Operation not permitted. */
    public static final int EPERM = 1;

    /** No such file or directory. */
    public static final int ENOENT = 2;

    /** Interrupted system call. */
    public static final int EINTR = 4;

    /** Input/output error. */
    public static final int EIO = 5;

    /** Nothing there yet. */
    public static final int EAGAIN = 11;

    /** Cannot allocate memory. */
    public static final int ENOMEM = 12;

    /** Permission denied. */
    public static final int EACCES = 13;

    /** No such device. */
    public static final int ENODEV = 19;

    /** Invalid argument. */
    public static final int EINVAL = 22;

    /** Too many open files. */
    public static final int EMFILE = 24;

    /** No space left on device. */
    public static final int ENOSPC = 28;

    /** Function not implemented. */
    public static final int ENOSYS = 38;

    /** Operation not supported. */
    public static final int EOPNOTSUPP = 95;

    /** Address already in use. */
    public static final int EADDRINUSE = 98;

    /** Cannot assign requested address. */
    public static final int EADDRNOTAVAIL = 99;

    /** Network is unreachable. */
    public static final int ENETUNREACH = 101;

    /** Connection reset by peer. */
    public static final int ECONNRESET = 104;

    /** Connection timed out. */
    public static final int ETIMEDOUT = 110;

    /** Connection refused. */
    public static final int ECONNREFUSED = 111;

    /** No route to host. */
    public static final int EHOSTUNREACH = 113;

    /** Makes a handle take a segment of {@link #allocate} first, in which the call leaves its errno. */
    public static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

    private Errno() {}

    /**
     * Memory for the errno of a call.
     *
     * @param arena whose memory it is
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
         * @return what it returned
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
         * @return what it returned
         * @throws Throwable as method handles declare it
         */
        int call(MemorySegment state) throws Throwable;
    }

    /**
     * For functions that return a pointer, NULL for failure with errno set.
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
     * For functions that return zero for success. Failure is an errno in most of libibverbs, -1 with errno set in the
     * older parts of it, and a negated errno in some drivers.
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
     * For functions that return zero or more for success, -1 for failure with errno set.
     *
     * @param function the call
     * @return what it returned, or a negated errno
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
     * As {@link #status(IntCall)}, for functions whose errno is not captured: -1 then says nothing of the reason.
     *
     * @param result what a function returned
     * @return zero, or a negated errno
     */
    public static int status(int result) {
        if (result == -1) {
            return -EIO;
        }
        return result > 0 ? -result : result;
    }

    /**
     * What a failed call left; a call that left nothing failed for a reason nobody knows, which reads as EIO.
     *
     * @param state the segment for the call's errno
     * @return the errno, positive
     */
    public static int captured(MemorySegment state) {
        int errno = (int) ERRNO.get(state, 0L);
        return errno > 0 ? errno : EIO;
    }

    /**
     * Linked functions throw nothing checked: what arrives is unchecked, such as the word that a function is missing.
     *
     * @param e what a method handle threw
     * @return it, to throw again, unless it is an error
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
