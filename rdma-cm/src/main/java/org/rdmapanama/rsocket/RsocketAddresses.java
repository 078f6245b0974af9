package org.rdmapanama.rsocket;

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
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import org.rdmapanama.ffm.verbs.sockaddr_in;
import org.rdmapanama.ffm.verbs.sockaddr_in6;

/** Converts socket addresses to and from struct sockaddr_in and sockaddr_in6. */
final class RsocketAddresses {
    private static final ValueLayout.OfShort NETWORK_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

    private RsocketAddresses() {}

    /** Returns an address that a channel can connect or bind to, or throws what channels of the JDK throw. */
    static InetSocketAddress check(SocketAddress address) {
        if (address == null) {
            throw new IllegalArgumentException("address must not be null");
        }
        if (!(address instanceof InetSocketAddress internet)) {
            throw new UnsupportedAddressTypeException();
        }
        if (internet.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return internet;
    }

    static MemorySegment toNative(Arena arena, InetSocketAddress address) {
        InetAddress host = address.getAddress();
        short port = (short) address.getPort();
        if (host instanceof Inet6Address six) {
            MemorySegment native6 = arena.allocate(sockaddr_in6.layout());
            native6.set(JAVA_SHORT, sockaddr_in6.sin6_family$offset(), (short) Rsockets.AF_INET6);
            native6.set(NETWORK_SHORT, sockaddr_in6.sin6_port$offset(), port);
            MemorySegment.copy(
                    six.getAddress(), 0, native6, JAVA_BYTE, sockaddr_in6.sin6_addr$offset(), six.getAddress().length);
            native6.set(JAVA_INT, sockaddr_in6.sin6_scope_id$offset(), six.getScopeId());
            return native6;
        }
        MemorySegment native4 = arena.allocate(sockaddr_in.layout());
        native4.set(JAVA_SHORT, sockaddr_in.sin_family$offset(), (short) Rsockets.AF_INET);
        native4.set(NETWORK_SHORT, sockaddr_in.sin_port$offset(), port);
        MemorySegment.copy(host.getAddress(), 0, native4, JAVA_BYTE, sockaddr_in.sin_addr$offset(), Integer.BYTES);
        return native4;
    }

    /** Room for an address of either family. */
    static MemorySegment allocate(Arena arena) {
        return arena.allocate(sockaddr_in6.layout());
    }

    /** Reads an address; null if its port is 0, as in an rsocket that is not bound or connected. */
    static InetSocketAddress ofNative(MemorySegment address) {
        int port = Short.toUnsignedInt(address.get(NETWORK_SHORT, sockaddr_in.sin_port$offset()));
        if (port == 0) {
            return null;
        }
        try {
            if (address.get(JAVA_SHORT, 0) == Rsockets.AF_INET6) {
                byte[] bytes =
                        address.asSlice(sockaddr_in6.sin6_addr$offset(), 16).toArray(JAVA_BYTE);
                int scope = address.get(JAVA_INT, sockaddr_in6.sin6_scope_id$offset());
                InetAddress host =
                        scope == 0 ? InetAddress.getByAddress(bytes) : Inet6Address.getByAddress(null, bytes, scope);
                return new InetSocketAddress(host, port);
            }
            byte[] bytes = address.asSlice(sockaddr_in.sin_addr$offset(), Integer.BYTES)
                    .toArray(JAVA_BYTE);
            return new InetSocketAddress(Inet4Address.getByAddress(bytes), port);
        } catch (UnknownHostException e) {
            throw new AssertionError("four or sixteen bytes are always an address", e);
        }
    }
}
