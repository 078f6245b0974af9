package org.rdmapanama.cm.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/** Turns what C functions return, and the errno they leave, into one convention: a negated errno is failure. */
public final class Native {
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

    /** Permission denied. */
    public static final int EACCES = 13;

    /** No such device. */
    public static final int ENODEV = 19;

    /** Invalid argument. */
    public static final int EINVAL = 22;

    /** Too many open files. */
    public static final int EMFILE = 24;

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

    /** Makes a handle take a segment first, in which the call leaves its errno. */
    static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

    private Native() {}

    /** A call that returns a pointer, given the segment for its errno. */
    @FunctionalInterface
    interface PointerCall {
        long call(MemorySegment state) throws Throwable;
    }

    /** A call that returns an int, given the segment for its errno. */
    @FunctionalInterface
    interface IntCall {
        int call(MemorySegment state) throws Throwable;
    }

    /** For functions that return a pointer, NULL for failure with errno set. */
    static long pointer(PointerCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            long result = function.call(state);
            return result != 0 ? result : -captured(state);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** For functions that return zero or more for success, and -1 with errno set for failure. */
    static int status(IntCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            int result = function.call(state);
            return result >= 0 ? result : -captured(state);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** What a failed call left; a call that left nothing failed for a reason nobody knows, which reads as EIO. */
    static int captured(MemorySegment state) {
        int errno = (int) ERRNO.get(state, 0L);
        return errno > 0 ? errno : EIO;
    }

    /** Linked functions throw nothing checked: what arrives is unchecked, such as the word that a function is missing. */
    static RuntimeException rethrow(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException exception) {
            throw exception;
        }
        throw new AssertionError(e);
    }

    /**
     * A view of a native structure.
     *
     * @param address where it is
     * @param byteSize its size in bytes
     * @return the view
     */
    @SuppressWarnings("restricted")
    public static MemorySegment struct(long address, long byteSize) {
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }
}
