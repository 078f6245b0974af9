package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** A queue with a descriptor, as the kernel makes it: an eventfd that counts down. */
final class DescriptorEvents implements Events {
    private static final int EFD_SEMAPHORE_NONBLOCK = 1 | 0x800;

    private static final MethodHandle EVENTFD =
            SystemFunctions.downcall("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle READ = SystemFunctions.downcall(
            "read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG), Errno.CAPTURE);

    private final int fd = Errno.result(errno -> (int) EVENTFD.invokeExact(errno, 0, EFD_SEMAPHORE_NONBLOCK));
    private final ReadySource source = ReadySource.ofDescriptor(fd);
    private boolean closed;

    @Override
    public ReadySource source() {
        return source;
    }

    @Override
    public void add() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocate(JAVA_LONG);
            one.set(JAVA_LONG, 0, 1);
            Libc.set(fd, one);
        }
    }

    @Override
    public synchronized String take() {
        if (closed) {
            throw new IllegalStateException();
        }
        try (Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(JAVA_LONG).address();
            return Errno.result(errno -> (int) (long) READ.invokeExact(errno, fd, address, 8L)) > 0 ? "it" : null;
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        source.close();
        Libc.close(fd);
    }
}
