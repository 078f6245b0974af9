package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** setsockopt(2), for options that the JDK does not offer. */
public final class SocketOptions {
    private static final MethodHandle SETSOCKOPT = SystemFunctions.downcall(
            "setsockopt",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT),
            Errno.CAPTURE);

    private SocketOptions() {}

    /**
     * Sets an integer option.
     *
     * @param fd the socket
     * @param level the level, such as IPPROTO_UDP
     * @param name the option, such as UDP_NO_CHECK6_RX
     * @param value the value
     * @return 0 or a negated errno
     */
    public static int set(int fd, int level, int name, int value) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment number = arena.allocateFrom(JAVA_INT, value);
            long address = number.address();
            return Errno.result(
                    errno -> (int) SETSOCKOPT.invokeExact(errno, fd, level, name, address, (int) JAVA_INT.byteSize()));
        }
    }
}
