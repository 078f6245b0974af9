package org.rdmapanama.ffm.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import org.rdmapanama.ffm.verbs.sockaddr_in;
import org.rdmapanama.ffm.verbs.sockaddr_in6;

/** Converts socket addresses to and from {@code struct sockaddr_in} and {@code struct sockaddr_in6}. Stateless. */
public final class SocketAddresses {
    /** Size of {@code struct sockaddr_storage}, which holds an address of any family, in bytes. */
    public static final int STORAGE_BYTES = 128;

    /** The family of IPv4. */
    public static final int AF_INET = 2;

    /** The family of IPv6. */
    public static final int AF_INET6 = 10;

    private static final int IPV6_ADDRESS_BYTES = 16;
    private static final ValueLayout.OfShort PORT = JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    /**
     * Writes an address, with the scope of an IPv6 address, to new memory.
     *
     * @param arena the arena to allocate from
     * @param address the address
     * @return a struct sockaddr_storage; the address is in the first {@link #length} bytes of it
     * @throws IllegalArgumentException when the host name is unresolved
     */
    public static MemorySegment write(Arena arena, InetSocketAddress address) {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException(
                    "address must be resolved, but the host name is unknown: " + address.getHostString());
        }
        MemorySegment struct = arena.allocate(STORAGE_BYTES, 8);
        write(struct, address);
        if (address.getAddress() instanceof Inet6Address ipv6) {
            struct.set(JAVA_INT_UNALIGNED, sockaddr_in6.sin6_scope_id$offset(), ipv6.getScopeId());
        }
        return struct;
    }

    /**
     * Writes family, port and IP address. The other fields stay as they are.
     *
     * @param struct where to write; need not be aligned
     * @param address the address, resolved
     */
    public static void write(MemorySegment struct, InetSocketAddress address) {
        InetAddress host = address.getAddress();
        boolean version4 = host instanceof Inet4Address;
        struct.set(JAVA_SHORT_UNALIGNED, sockaddr_in.sin_family$offset(), (short) (version4 ? AF_INET : AF_INET6));
        struct.set(PORT, sockaddr_in.sin_port$offset(), (short) address.getPort());
        byte[] bytes = host.getAddress();
        long offset = version4 ? sockaddr_in.sin_addr$offset() : sockaddr_in6.sin6_addr$offset();
        MemorySegment.copy(bytes, 0, struct, JAVA_BYTE, offset, bytes.length);
    }

    /**
     * Returns the size of the structure that an address needs.
     *
     * @param address the address, resolved
     * @return the size of struct sockaddr_in or sockaddr_in6, in bytes
     */
    public static int length(InetSocketAddress address) {
        return (int) (address.getAddress() instanceof Inet4Address ? sockaddr_in.sizeof() : sockaddr_in6.sizeof());
    }

    /**
     * Reads an address, with its scope if that is not 0. As everywhere in Java, an IPv4 address in the form of an IPv6
     * address becomes an IPv4 address.
     *
     * @param struct the structure; need not be aligned
     * @return the address; null if it is unset or belongs to another family
     */
    public static InetSocketAddress read(MemorySegment struct) {
        return switch (struct.get(JAVA_SHORT_UNALIGNED, sockaddr_in.sin_family$offset())) {
            case AF_INET -> at(struct, host(bytes(struct, sockaddr_in.sin_addr$offset(), Integer.BYTES), 0));
            case AF_INET6 ->
                at(
                        struct,
                        host(
                                bytes(struct, sockaddr_in6.sin6_addr$offset(), IPV6_ADDRESS_BYTES),
                                struct.get(JAVA_INT_UNALIGNED, sockaddr_in6.sin6_scope_id$offset())));
            default -> null;
        };
    }

    private static InetSocketAddress at(MemorySegment struct, InetAddress host) {
        return new InetSocketAddress(host, Short.toUnsignedInt(struct.get(PORT, sockaddr_in.sin_port$offset())));
    }

    private static byte[] bytes(MemorySegment struct, long offset, long length) {
        return struct.asSlice(offset, length).toArray(JAVA_BYTE);
    }

    /**
     * Returns the IP address of four or sixteen bytes, without a scope.
     *
     * @param bytes the bytes, in network byte order
     * @return the address
     */
    public static InetAddress host(byte... bytes) {
        return host(bytes, 0);
    }

    private static InetAddress host(byte[] bytes, int scope) {
        try {
            return scope == 0 ? InetAddress.getByAddress(bytes) : Inet6Address.getByAddress(null, bytes, scope);
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
