package org.rdmapanama.rsocket;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;

/**
 * The functions of rsocket.h that the channels need, one method per function. The C functions report failure as -1 with
 * errno set; these methods return a negated errno.
 *
 * <p>Memory of callers is passed as a segment, so that its arena cannot be closed during the call.
 */
final class Rsockets {
    static final int SOL_SOCKET = 1;
    static final int SO_REUSEADDR = 2;
    static final int SO_ERROR = 4;
    static final int SO_SNDBUF = 7;
    static final int SO_RCVBUF = 8;
    static final int SO_KEEPALIVE = 9;
    static final int IPPROTO_TCP = 6;
    static final int TCP_NODELAY = 1;
    static final int SOL_RDMA = 0x10000;
    static final int RDMA_SQSIZE = 0;
    static final int RDMA_RQSIZE = 1;
    static final int RDMA_INLINE = 2;
    static final int RDMA_IOMAPSIZE = 3;
    static final int RDMA_ROUTE = 4;

    static final int SHUT_RD = 0;
    static final int SHUT_WR = 1;

    static final short POLLIN = 1;
    static final short POLLOUT = 4;
    static final short POLLERR = 8;
    static final short POLLHUP = 16;
    static final short POLLNVAL = 32;

    private static final long LONGEST_TEXT = 256;
    private static final int SOCK_STREAM = 1;
    private static final int F_SETFL = 4;
    private static final int O_NONBLOCK = 2048;
    private static final int PROT_WRITE = 2;

    /** struct pollfd: int fd, short events, short revents. */
    static final long POLL_BYTES = 8;

    static final long POLL_EVENTS = 4;
    static final long POLL_REVENTS = 6;

    private static final ThreadLocal<MemorySegment> CAPTURED =
            ThreadLocal.withInitial(() -> Errno.allocate(Arena.ofAuto()));

    private static final MethodHandle SOCKET = handle("rsocket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = handle("rbind", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle LISTEN = handle("rlisten", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle ACCEPT = handle("raccept", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle CONNECT = handle("rconnect", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle SHUTDOWN = handle("rshutdown", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle CLOSE = handle("rclose", JAVA_INT, JAVA_INT);
    private static final MethodHandle RECV = handle("rrecv", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle SEND = handle("rsend", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle POLL = handle("rpoll", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);
    private static final MethodHandle GETPEERNAME = handle("rgetpeername", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle GETSOCKNAME = handle("rgetsockname", JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle SETSOCKOPT =
            handle("rsetsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle GETSOCKOPT =
            handle("rgetsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS);
    private static final MethodHandle IOMAP =
            handle("riomap", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG);
    private static final MethodHandle IOUNMAP = handle("riounmap", JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle IOWRITE =
            handle("riowrite", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_INT);
    private static final MethodHandle RFCNTL = fcntl("rfcntl");
    private static final MethodHandle FCNTL = fcntl("fcntl");
    private static final MethodHandle STRERROR = NativeLibrary.RDMACM.downcall(
            "__xpg_strerror_r", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG));

    private Rsockets() {}

    private static MethodHandle handle(String function, MemoryLayout result, MemoryLayout... arguments) {
        return NativeLibrary.RDMACM.downcall(function, FunctionDescriptor.of(result, arguments), Errno.CAPTURE);
    }

    /** Binds fcntl or rfcntl; libc functions are found through the dependencies of librdmacm. */
    private static MethodHandle fcntl(String function) {
        return NativeLibrary.RDMACM.downcall(
                function,
                FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
                Errno.CAPTURE,
                Linker.Option.firstVariadicArg(2));
    }

    private static int result(int result, MemorySegment state) {
        return result >= 0 ? result : -Errno.captured(state);
    }

    private static long result(long result, MemorySegment state) {
        return result >= 0 ? result : -Errno.captured(state);
    }

    /** rsocket, for a stream. */
    static int socket(int family) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) SOCKET.invokeExact(state, family, SOCK_STREAM, 0), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rbind. */
    static int bind(int socket, MemorySegment address) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) BIND.invokeExact(state, socket, address, (int) address.byteSize()), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rlisten. */
    static int listen(int socket, int backlog) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) LISTEN.invokeExact(state, socket, backlog), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** raccept, without the address of the peer. */
    static int accept(int socket) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) ACCEPT.invokeExact(state, socket, MemorySegment.NULL, MemorySegment.NULL), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rconnect. */
    static int connect(int socket, MemorySegment address) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) CONNECT.invokeExact(state, socket, address, (int) address.byteSize()), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rshutdown. Blocks until everything sent has arrived, or the connection has failed. */
    static int shutdown(int socket, int how) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) SHUTDOWN.invokeExact(state, socket, how), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rclose. Blocks as rshutdown does. */
    static int close(int socket) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) CLOSE.invokeExact(state, socket), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rrecv. Zero at the end of the stream, and when the connection has failed. */
    static long receive(int socket, MemorySegment target) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((long) RECV.invokeExact(state, socket, target, target.byteSize(), 0), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rsend. */
    static long send(int socket, MemorySegment source) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((long) SEND.invokeExact(state, socket, source, source.byteSize(), 0), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * rpoll with a timeout of zero, the only one that is safe: up to rdma-core 62, the first rpoll that times out
     * leaves a counter wrong, and later ones then spin until something happens, whatever their timeout.
     */
    static int poll(MemorySegment pollfds, long count) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) POLL.invokeExact(state, pollfds, count, 0), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rgetpeername. */
    static int peerName(int socket, MemorySegment address, MemorySegment length) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) GETPEERNAME.invokeExact(state, socket, address, length), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rgetsockname. */
    static int socketName(int socket, MemorySegment address, MemorySegment length) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) GETSOCKNAME.invokeExact(state, socket, address, length), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rsetsockopt. */
    static int setOption(int socket, int level, int option, MemorySegment value) {
        try {
            MemorySegment state = CAPTURED.get();
            return result(
                    (int) SETSOCKOPT.invokeExact(state, socket, level, option, value, (int) value.byteSize()), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rgetsockopt; length is an int. */
    static int getOption(int socket, int level, int option, MemorySegment value, MemorySegment length) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) GETSOCKOPT.invokeExact(state, socket, level, option, value, length), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** rfcntl: makes the rsocket non-blocking. */
    static int setNonBlocking(int socket) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) RFCNTL.invokeExact(state, socket, F_SETFL, O_NONBLOCK), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * fcntl on the descriptor of an rsocket's connection events, whose number is that of the rsocket. rfcntl does not
     * change it once the rsocket is connected, and then librdmacm's own thread could block on it forever.
     */
    static int setEventsNonBlocking(int socket) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) FCNTL.invokeExact(state, socket, F_SETFL, O_NONBLOCK), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** riomap for writing by the peer. */
    static long ioMap(int socket, MemorySegment memory, long offset) {
        try {
            MemorySegment state = CAPTURED.get();
            return result(
                    (long) IOMAP.invokeExact(state, socket, memory, memory.byteSize(), PROT_WRITE, 0, offset), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** riounmap. */
    static int ioUnmap(int socket, MemorySegment memory) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((int) IOUNMAP.invokeExact(state, socket, memory.address(), memory.byteSize()), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** riowrite. Zero when nothing is mapped at the offset. */
    static long ioWrite(int socket, MemorySegment source, long offset) {
        try {
            MemorySegment state = CAPTURED.get();
            return result((long) IOWRITE.invokeExact(state, socket, source, source.byteSize(), offset, 0), state);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** strerror_r of POSIX: libc's text for an errno. */
    static String text(int errno) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(LONGEST_TEXT);
            int result = (int) STRERROR.invokeExact(errno, text, LONGEST_TEXT);
            return result == 0 ? text.getString(0) : "errno " + errno;
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
