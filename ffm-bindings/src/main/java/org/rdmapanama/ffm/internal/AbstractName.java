package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/**
 * Names that one process of a machine can have at a time: the abstract addresses of unix(7), which need no file and which
 * the kernel takes back when the process ends. Processes of different network namespaces have different names. Only Linux
 * has them. Stateless; any thread may call it.
 */
public final class AbstractName {
    /** How long a name may be, in bytes. */
    private static final int MOST_BYTES = 107;

    private static final short AF_UNIX = 1;
    private static final int SOCK_STREAM_CLOEXEC = 1 | 0x80000;
    private static final int PATH = 2;

    private static final MethodHandle SOCKET = SystemFunctions.downcall(
            "socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT), Errno.CAPTURE);
    private static final MethodHandle BIND = SystemFunctions.downcall(
            "bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT), Errno.CAPTURE);

    private AbstractName() {}

    /**
     * Takes a name. Nobody can connect to it: the socket that has it does not listen.
     *
     * @param name the name, of at most 107 bytes in UTF-8
     * @return what {@link #release} needs; or a negated errno, -EADDRINUSE if the name is taken
     * @throws IllegalArgumentException when the name is longer
     */
    public static int take(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > MOST_BYTES) {
            throw new IllegalArgumentException("the name must have at most " + MOST_BYTES + " bytes: " + name);
        }
        int socket = Errno.result(errno -> (int) SOCKET.invokeExact(errno, (int) AF_UNIX, SOCK_STREAM_CLOEXEC, 0));
        if (socket < 0) {
            return socket;
        }
        int result;
        try (Arena arena = Arena.ofConfined()) {
            // The path of an abstract address begins with a zero, and has no end but that of the structure.
            int length = PATH + 1 + bytes.length;
            MemorySegment address = arena.allocate(length, JAVA_SHORT.byteAlignment());
            address.set(JAVA_SHORT, 0, AF_UNIX);
            MemorySegment.copy(bytes, 0, address, JAVA_BYTE, PATH + 1L, bytes.length);
            long at = address.address();
            result = Errno.result(errno -> (int) BIND.invokeExact(errno, socket, at, length));
        }
        if (result < 0) {
            Libc.close(socket);
            return result;
        }
        return socket;
    }

    /**
     * Gives a name back.
     *
     * @param taken what {@link #take} returned
     */
    public static void release(int taken) {
        Libc.close(taken);
    }
}
