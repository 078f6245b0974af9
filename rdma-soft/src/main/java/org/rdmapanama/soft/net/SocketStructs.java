package org.rdmapanama.soft.net;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.SocketAddresses;

/**
 * Socket addresses in native memory, by the address of the structure. Scopes are neither read nor written, because GIDs
 * have none. Stateless.
 */
public final class SocketStructs {
    private SocketStructs() {}

    /** Reads a struct sockaddr; null if it belongs to another family than IPv4 and IPv6. */
    public static InetSocketAddress read(long struct) {
        InetSocketAddress address = SocketAddresses.read(Native.struct(struct, SocketAddresses.STORAGE_BYTES));
        if (address != null && address.getAddress() instanceof Inet6Address ipv6 && ipv6.getScopeId() != 0) {
            InetAddress host = SocketAddresses.host(ipv6.getAddress());
            return new InetSocketAddress(host, address.getPort());
        }
        return address;
    }

    /** Writes a struct sockaddr_in or sockaddr_in6. */
    public static void write(InetSocketAddress address, long struct) {
        SocketAddresses.write(Native.struct(struct, SocketAddresses.STORAGE_BYTES), address);
    }
}
