package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/** Converts socket addresses to and from {@code struct sockaddr_in} and {@code struct sockaddr_in6}. */
final class SocketAddresses {
    /** Size of {@code struct sockaddr_storage}, in bytes. */
    static final int STORAGE_BYTES = 128;

    static final int AF_INET = 2;
    static final int AF_INET6 = 10;

    private static final int IPV4_BYTES = 16;
    private static final int IPV6_BYTES = 28;
    private static final ValueLayout.OfShort PORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    /**
     * Writes an address.
     *
     * @throws IllegalArgumentException when the host name is unresolved
     */
    static MemorySegment write(Arena arena, InetSocketAddress address) {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException(
                    "address must be resolved, but the host name is unknown: " + address.getHostString());
        }
        MemorySegment struct = arena.allocate(STORAGE_BYTES, 8);
        struct.set(PORT, 2, (short) address.getPort());
        byte[] bytes = address.getAddress().getAddress();
        if (address.getAddress() instanceof Inet6Address ipv6) {
            struct.set(JAVA_SHORT, 0, (short) AF_INET6);
            MemorySegment.copy(bytes, 0, struct, JAVA_BYTE, 8, bytes.length);
            struct.set(JAVA_INT, 24, ipv6.getScopeId());
        } else {
            struct.set(JAVA_SHORT, 0, (short) AF_INET);
            MemorySegment.copy(bytes, 0, struct, JAVA_BYTE, 4, bytes.length);
        }
        return struct;
    }

    static int length(InetSocketAddress address) {
        return address.getAddress() instanceof Inet4Address ? IPV4_BYTES : IPV6_BYTES;
    }

    /** Reads an address; null if it is unset or belongs to another family. */
    static InetSocketAddress read(MemorySegment struct) {
        int port = Short.toUnsignedInt(struct.get(PORT, 2));
        try {
            return switch (struct.get(JAVA_SHORT, 0)) {
                case AF_INET -> new InetSocketAddress(InetAddress.getByAddress(bytes(struct, 4, 4)), port);
                case AF_INET6 ->
                    new InetSocketAddress(
                            Inet6Address.getByAddress(null, bytes(struct, 8, 16), struct.get(JAVA_INT, 24)), port);
                default -> null;
            };
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static byte[] bytes(MemorySegment struct, long offset, int length) {
        return struct.asSlice(offset, length).toArray(JAVA_BYTE);
    }
}
