package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Locale;

/**
 * sendto(2), sendmsg(2) and recvmsg(2) for UDP sockets, which neither wait nor allocate. With segmentation offload, one call
 * carries many datagrams of equal size: UDP_SEGMENT and UDP_GRO of udp(7).
 *
 * <p>Not thread-safe: it keeps the arguments of a call in its own memory.
 */
public final class Datagrams implements AutoCloseable {
    /** The most datagrams that one call sends: UDP_MAX_SEGMENTS of older kernels. */
    public static final int MAX_SEGMENTS = 64;

    /** The most bytes that one call sends: what an IPv4 packet carries. */
    public static final int MAX_SEND_BYTES = 65_507;

    /** The most bytes that one call receives. */
    public static final int MAX_RECEIVE_BYTES = 65_536;

    private static final int SOL_UDP = 17;
    private static final int UDP_SEGMENT = 103;
    private static final int UDP_GRO = 104;
    private static final int SOL_IP = 0;
    private static final int IP_TOS = 1;
    private static final int IP_RECVTOS = 13;
    private static final int SOL_IPV6 = 41;
    private static final int IPV6_RECVTCLASS = 66;
    private static final int IPV6_TCLASS = 67;

    /** The bits of type of service and traffic class for congestion. */
    private static final int ECN_BITS = 3;

    private static final int MSG_PEEK = 0x02;
    private static final int MSG_TRUNC = 0x20;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int FLAGS_OF_SENDING = MSG_DONTWAIT | MSG_NOSIGNAL;

    // struct msghdr and struct cmsghdr where a long has 64 bits.
    private static final long NAME = 0;
    private static final long NAME_LENGTH = 8;
    private static final long VECTOR = 16;
    private static final long VECTOR_LENGTH = 24;
    private static final long CONTROL = 32;
    private static final long CONTROL_LENGTH = 40;
    private static final long FLAGS = 48;
    private static final long HEADER_BYTES = 56;
    private static final long VECTOR_BYTES = 16;
    private static final long CONTROL_LEVEL = 8;
    private static final long CONTROL_TYPE = 12;
    private static final long CONTROL_DATA = 16;
    private static final long CONTROL_SPACE = 64;

    /** CMSG_LEN and CMSG_SPACE of a segment size. */
    private static final long SEGMENT_LENGTH = CONTROL_DATA + Short.BYTES;

    private static final long SEGMENT_SPACE = CONTROL_DATA + Long.BYTES;

    /** The functions, found when a socket first needs them. */
    private static final class Functions {
        // Without errno, because a call that captures it allocates, unless the best compiler has compiled it.
        static final MethodHandle SENDMSG = of("sendmsg");
        static final MethodHandle SENDMSG_ERRNO = of("sendmsg", Errno.CAPTURE);
        static final MethodHandle RECVMSG = of("recvmsg");

        // The kernel copies less for it than for sendmsg.
        static final MethodHandle SENDTO = sendto();

        static final MethodHandle SENDTO_ERRNO = sendto(Errno.CAPTURE);

        static final MethodHandle SETSOCKOPT = SystemFunctions.downcall(
                "setsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_INT));

        private static MethodHandle sendto(Linker.Option... options) {
            return SystemFunctions.downcall(
                    "sendto",
                    FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT),
                    options);
        }

        private static MethodHandle of(String name, Linker.Option... options) {
            return SystemFunctions.downcall(
                    name, FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT), options);
        }
    }

    private final Arena arena = Arena.ofShared();
    private final MemorySegment errno = Errno.allocate(arena);
    private final MemorySegment name = arena.allocate(SocketAddresses.STORAGE_BYTES, Long.BYTES);
    private final MemorySegment vector = arena.allocate(VECTOR_BYTES, Long.BYTES);
    private final MemorySegment control = arena.allocate(CONTROL_SPACE, Long.BYTES);
    private final MemorySegment header = arena.allocate(HEADER_BYTES, Long.BYTES);
    private final MemorySegment option = arena.allocate(JAVA_INT);
    private final long headerAddress = header.address();
    private final long nameAddress = name.address();
    private final long optionAddress = option.address();

    /** Whether any socket tells of marks. */
    private boolean marks;

    /** Allocates the memory for calls, until {@link #close}. */
    public Datagrams() {
        header.set(JAVA_LONG, NAME, name.address());
        header.set(JAVA_LONG, VECTOR, vector.address());
        header.set(JAVA_LONG, VECTOR_LENGTH, 1);
    }

    /**
     * Returns whether this system has these calls in the form that this class knows, Linux with 64 bits, and the JVM allows them.
     *
     * @return whether it has
     */
    public static boolean areSupported() {
        return NativeAccess.ALLOWED
                && System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")
                && ValueLayout.ADDRESS.byteSize() == Long.BYTES
                && SystemFunctions.find("sendmsg").isPresent()
                && SystemFunctions.find("recvmsg").isPresent();
    }

    /**
     * Lets a socket receive several datagrams with one call.
     *
     * @param fd the socket
     * @return 0 or a negated errno
     */
    public static int receiveSegments(int fd) {
        return SocketOptions.set(fd, SOL_UDP, UDP_GRO, 1);
    }

    /**
     * Says whether one call shall receive several datagrams, after {@link #receiveSegments}. A single datagram takes the kernel
     * longer to receive if so.
     *
     * @param fd the socket
     * @param several whether it shall
     */
    public void receiveSegments(int fd, boolean several) {
        option.set(JAVA_INT, 0, several ? 1 : 0);
        try {
            int unused = (int)
                    Functions.SETSOCKOPT.invokeExact(fd, SOL_UDP, UDP_GRO, optionAddress, (int) JAVA_INT.byteSize());
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * Returns whether the kernel can divide what a socket sends.
     *
     * @param fd the socket
     * @return 0 or a negated errno
     */
    public static int sendSegments(int fd) {
        // A size of 0 divides nothing unless a call asks for it.
        return SocketOptions.set(fd, SOL_UDP, UDP_SEGMENT, 0);
    }

    /**
     * Sends datagrams.
     *
     * @param fd the socket
     * @param data the address of the bytes
     * @param bytes how many bytes, up to {@link #MAX_SEND_BYTES}
     * @param segment the size of each datagram but the last, which may be shorter; 0 for one datagram
     * @param to a struct sockaddr
     * @return the number of bytes sent, or a negated errno, of which {@link #isForWantOfRoom} tells more
     */
    public int send(int fd, long data, int bytes, int segment, byte... to) {
        MemorySegment.copy(to, 0, name, ValueLayout.JAVA_BYTE, 0, to.length);
        boolean divided = segment > 0 && segment < bytes;
        if (divided) {
            describe(data, bytes, segment, to.length);
        }
        try {
            long sent = divided
                    ? (long) Functions.SENDMSG.invokeExact(fd, headerAddress, FLAGS_OF_SENDING)
                    : (long) Functions.SENDTO.invokeExact(
                            fd, data, (long) bytes, FLAGS_OF_SENDING, nameAddress, to.length);
            return sent >= 0 ? (int) sent : sendAgain(fd, data, bytes, divided, to.length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /** Sends what could not be sent, to learn why. It may go well now. */
    private int sendAgain(int fd, long data, int bytes, boolean divided, int nameLength) throws Throwable {
        long sent = divided
                ? (long) Functions.SENDMSG_ERRNO.invokeExact(errno, fd, headerAddress, FLAGS_OF_SENDING)
                : (long) Functions.SENDTO_ERRNO.invokeExact(
                        errno, fd, data, (long) bytes, FLAGS_OF_SENDING, nameAddress, nameLength);
        return sent >= 0 ? (int) sent : -Errno.captured(errno);
    }

    /**
     * Returns whether nothing was sent because the socket or the system has no memory for it now: later it may have.
     *
     * @param result what {@link #send} returned
     * @return whether that was the reason
     */
    public static boolean isForWantOfRoom(int result) {
        return result == -Errno.EAGAIN || result == -Errno.ENOBUFS || result == -Errno.ENOMEM;
    }

    /** Describes datagrams for sendmsg. */
    private void describe(long data, int bytes, int segment, int nameLength) {
        header.set(JAVA_INT, NAME_LENGTH, nameLength);
        vector.set(JAVA_LONG, 0, data);
        vector.set(JAVA_LONG, Long.BYTES, bytes);
        control.set(JAVA_LONG, 0, SEGMENT_LENGTH);
        control.set(JAVA_INT, CONTROL_LEVEL, SOL_UDP);
        control.set(JAVA_INT, CONTROL_TYPE, UDP_SEGMENT);
        control.set(JAVA_SHORT, CONTROL_DATA, (short) segment);
        header.set(JAVA_LONG, CONTROL, control.address());
        header.set(JAVA_LONG, CONTROL_LENGTH, SEGMENT_SPACE);
    }

    /**
     * Receives one or more datagrams of one sender.
     *
     * @param fd the socket
     * @param data where to write them
     * @param bytes how much memory is there
     * @return the number of bytes received, or -1 if there are none, or after a failure. {@link #segment}, {@link #sender} and
     *     {@link #wasCut} tell more until the next call
     */
    public int receive(int fd, long data, int bytes) {
        return receive(fd, data, bytes, MSG_DONTWAIT);
    }

    /**
     * Returns whether a datagram waits to be received. What {@link #segment}, {@link #sender} and {@link #wasCut} tell is lost.
     *
     * @param fd the socket
     * @return whether one waits
     */
    public boolean isWaiting(int fd) {
        return receive(fd, optionAddress, 0, MSG_DONTWAIT | MSG_PEEK) >= 0;
    }

    private int receive(int fd, long data, int bytes, int flags) {
        header.set(JAVA_INT, NAME_LENGTH, SocketAddresses.STORAGE_BYTES);
        vector.set(JAVA_LONG, 0, data);
        vector.set(JAVA_LONG, Long.BYTES, bytes);
        header.set(JAVA_LONG, CONTROL, control.address());
        header.set(JAVA_LONG, CONTROL_LENGTH, CONTROL_SPACE);
        try {
            return (int) (long) Functions.RECVMSG.invokeExact(fd, headerAddress, flags);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    /**
     * Returns the size of each datagram but the last, which may be shorter, of what was received last.
     *
     * @return the size in bytes; 0 if it was one datagram
     */
    public int segment() {
        boolean told = header.get(JAVA_LONG, CONTROL_LENGTH) >= CONTROL_DATA + Integer.BYTES
                && control.get(JAVA_INT, CONTROL_LEVEL) == SOL_UDP
                && control.get(JAVA_INT, CONTROL_TYPE) == UDP_GRO;
        return told ? control.get(JAVA_INT, CONTROL_DATA) : 0;
    }

    /**
     * Has a socket tell whether a congested switch has marked what it receives (RFC 3168).
     *
     * @param fd the socket
     * @param version6 whether it is one of IPv6
     * @return 0 or a negated errno
     */
    public int receiveMarks(int fd, boolean version6) {
        marks = true;
        return version6
                ? SocketOptions.set(fd, SOL_IPV6, IPV6_RECVTCLASS, 1)
                : SocketOptions.set(fd, SOL_IP, IP_RECVTOS, 1);
    }

    /**
     * Returns the ECN field of what was received last: 3 if a congested switch has marked it. The kernel joins only datagrams
     * that have the same one.
     *
     * @return 0 to 3; 0 also if the socket does not tell
     */
    public int ecn() {
        if (!marks) {
            return 0;
        }
        long end = Math.min(header.get(JAVA_LONG, CONTROL_LENGTH), CONTROL_SPACE);
        long at = 0;
        while (at + CONTROL_DATA < end) {
            int level = control.get(JAVA_INT, at + CONTROL_LEVEL);
            int type = control.get(JAVA_INT, at + CONTROL_TYPE);
            if (level == SOL_IP && type == IP_TOS) {
                return control.get(ValueLayout.JAVA_BYTE, at + CONTROL_DATA) & ECN_BITS;
            }
            if (level == SOL_IPV6 && type == IPV6_TCLASS) {
                return control.get(JAVA_INT, at + CONTROL_DATA) & ECN_BITS;
            }
            long length = control.get(JAVA_LONG, at);
            at += Math.max(length + Long.BYTES - 1 & -Long.BYTES, CONTROL_DATA);
        }
        return 0;
    }

    /**
     * Returns whether what was received last did not fit, so that its end is lost.
     *
     * @return whether it did not fit
     */
    public boolean wasCut() {
        return (header.get(JAVA_INT, FLAGS) & MSG_TRUNC) != 0;
    }

    /**
     * Returns the sender of what was received last.
     *
     * @return a struct sockaddr, which the next call overwrites
     */
    public MemorySegment sender() {
        return name;
    }

    /** Frees the memory for calls. */
    @Override
    public void close() {
        arena.close();
    }
}
