package org.rdmapanama.rsocket;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Checks the addresses that callers of channels pass. */
final class ChannelAddresses {
    private ChannelAddresses() {}

    /** Returns an address that a channel can connect or bind to, or throws what channels of the JDK throw. */
    static InetSocketAddress check(SocketAddress address) {
        Objects.requireNonNull(address, "address");
        if (!(address instanceof InetSocketAddress internet)) {
            throw new UnsupportedAddressTypeException();
        }
        if (internet.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        return internet;
    }

    /** As {@link #check}; null means any address and any free port. */
    static InetSocketAddress orAny(@Nullable SocketAddress address) {
        return address == null ? new InetSocketAddress(0) : check(address);
    }
}
