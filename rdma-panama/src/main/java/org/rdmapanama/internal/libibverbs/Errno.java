package org.rdmapanama.internal.libibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/** Turns what C functions return, and the errno they leave, into the results of the provider line. */
final class Errno {
    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int EINTR = 4;
    static final int EIO = 5;
    static final int EAGAIN = 11;
    static final int ENOMEM = 12;
    static final int EACCES = 13;
    static final int ENODEV = 19;
    static final int EINVAL = 22;
    static final int ENOSPC = 28;
    static final int ENOSYS = 38;
    static final int EOPNOTSUPP = 95;

    /** Makes a handle take a segment of {@link #allocate} first, in which the call leaves its errno. */
    static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");

    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(PathElement.groupElement("errno"));

    private Errno() {}

    static MemorySegment allocate(Arena arena) {
        return arena.allocate(STATE);
    }

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
     */
    static int status(IntCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = allocate(arena);
            int result = function.call(state);
            return result == -1 ? -captured(state) : status(result);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** For functions that return an index from zero, -1 for failure with errno set. */
    static int index(IntCall function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = allocate(arena);
            int result = function.call(state);
            return result >= 0 ? result : -captured(state);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** As {@link #status(IntCall)}, for functions of the driver whose errno is not captured: -1 then says nothing of the reason. */
    static int status(int result) {
        if (result == -1) {
            return -EIO;
        }
        return result > 0 ? -result : result;
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
}
