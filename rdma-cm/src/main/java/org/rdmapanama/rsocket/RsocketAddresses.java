package org.rdmapanama.rsocket;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.ffm.verbs.sockaddr_in6;

/** Checks the addresses that callers of channels pass, and passes addresses to and from functions of rsocket.h. */
final class RsocketAddresses {
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

    /** Writes an address; returns a structure of exactly its size. */
    static MemorySegment toNative(Arena arena, InetSocketAddress address) {
        return SocketAddresses.write(arena, address).asSlice(0, SocketAddresses.length(address));
    }

    /** Room for an address of either family. */
    static MemorySegment allocate(Arena arena) {
        return arena.allocate(sockaddr_in6.layout());
    }

    /** Reads an address; null if its port is 0, as in an rsocket that is not bound or connected. */
    static InetSocketAddress ofNative(MemorySegment struct) {
        InetSocketAddress address = SocketAddresses.read(struct);
        return address == null || address.getPort() == 0 ? null : address;
    }
}
