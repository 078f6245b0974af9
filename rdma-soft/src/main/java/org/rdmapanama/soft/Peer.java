package org.rdmapanama.soft;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.rdmapanama.soft.wire.Flow;

/** A socket that packets come from or go to, with what is needed again for each of them. */
final class Peer {
    /** Soft-RoCE and network cards send from these, whatever port they receive at. */
    static final int EPHEMERAL_PORTS = 0xc000;

    final InetSocketAddress address;

    /** The object by which a channel named it last. */
    SocketAddress seenAs;

    final long gidHigh;
    final long gidLow;
    private final InetSocketAddress[] own;
    private final Flow[] fromThem;
    private final Flow[] toThem;

    /** With the sockets of this device, by the place of their GID. */
    Peer(InetSocketAddress address, InetSocketAddress[] own) {
        this.address = address;
        this.own = own;
        gidHigh = LocalAddresses.high(address.getAddress());
        gidLow = LocalAddresses.low(address.getAddress());
        fromThem = new Flow[own.length];
        toThem = new Flow[own.length];
    }

    /** Whether packets of the other one are of the same device: devices of other makers send from any port. */
    boolean sameHost(Peer other) {
        return gidLow == other.gidLow && gidHigh == other.gidHigh;
    }

    Flow fromThem(int index) {
        if (fromThem[index] == null) {
            fromThem[index] = Flow.of(address, own[index]);
        }
        return fromThem[index];
    }

    Flow toThem(int index) {
        if (toThem[index] == null) {
            toThem[index] = Flow.of(own[index], address);
        }
        return toThem[index];
    }

    /** Whether a port that a packet came from is one that its device receives at. */
    static boolean receivesWhereItSends(int port) {
        return port < EPHEMERAL_PORTS;
    }
}
