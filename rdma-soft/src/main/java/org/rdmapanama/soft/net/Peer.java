package org.rdmapanama.soft.net;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * A remote socket that packets come from or go to, with the data that every packet needs: its GID, and a {@link UdpFlow}
 * per local address and direction. {@link Wire} creates and caches peers. Callers must hold the lock of the device.
 */
public final class Peer {
    /** The first of the ports that Soft-RoCE and network cards send from, whatever port they receive at. */
    static final int EPHEMERAL_PORTS = 0xc000;

    public final InetSocketAddress address;

    /** The address object that a channel returned for it last, to compare by identity. */
    SocketAddress seenAs;

    final long gidHigh;
    final long gidLow;
    private final InetSocketAddress[] own;
    private final UdpFlow[] fromThem;
    private final UdpFlow[] toThem;

    /** Creates a peer; {@code own} are the sockets of this device by GID index. */
    Peer(InetSocketAddress address, InetSocketAddress[] own) {
        this.address = address;
        this.own = own;
        gidHigh = Gids.high(address.getAddress());
        gidLow = Gids.low(address.getAddress());
        fromThem = new UdpFlow[own.length];
        toThem = new UdpFlow[own.length];
    }

    /** Returns whether both belong to the same host: other devices send from arbitrary ports. */
    public boolean sameHost(Peer other) {
        return gidLow == other.gidLow && gidHigh == other.gidHigh;
    }

    UdpFlow fromThem(int index) {
        if (fromThem[index] == null) {
            fromThem[index] = UdpFlow.of(address, own[index]);
        }
        return fromThem[index];
    }

    UdpFlow toThem(int index) {
        if (toThem[index] == null) {
            toThem[index] = UdpFlow.of(own[index], address);
        }
        return toThem[index];
    }

    /** Returns whether a source port is also the port that the device receives at. */
    public static boolean receivesWhereItSends(int port) {
        return port < EPHEMERAL_PORTS;
    }
}
