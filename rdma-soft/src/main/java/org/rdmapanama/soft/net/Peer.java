package org.rdmapanama.soft.net;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import org.rdmapanama.ffm.internal.SocketAddresses;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * A remote socket that packets come from or go to, with the data that every packet needs: its GID, and a {@link UdpFlow}
 * per local address and direction. {@link Peers} creates and caches peers. Callers must hold the lock of the device.
 */
public final class Peer {
    public final InetSocketAddress address;

    /** The address as a struct sockaddr. */
    final byte[] struct;

    /** Whether it can be sent many packets at once. */
    boolean batches;

    final long gidHigh;
    final long gidLow;
    /** What may be in flight to it. */
    public final SendWindow window = new SendWindow();

    /** The link in shared memory for each of the own sockets, where there is one. Null before the first one. */
    private RingLink[] links;

    /** Before this time, by System.nanoTime(), no link is offered to it. */
    long offersFrom = System.nanoTime();

    /** How many links were offered to it again since a path was made, or since the last link that has lasted. */
    int offersAgain;

    private final List<InetSocketAddress> own;
    private final UdpFlow[] fromThem;
    private UdpFlow[] toThem;

    /**
     * Creates a peer; {@code own} are the sockets of this device by GID index, and behind them those that only send, to which
     * others may be added. {@link Peers} calls it.
     */
    Peer(InetSocketAddress address, List<InetSocketAddress> own) {
        this.address = address;
        this.own = own;
        struct = new byte[SocketAddresses.length(address)];
        SocketAddresses.write(MemorySegment.ofArray(struct), address);
        gidHigh = Gids.high(address.getAddress());
        gidLow = Gids.low(address.getAddress());
        fromThem = new UdpFlow[own.size()];
        toThem = new UdpFlow[own.size()];
    }

    /** Returns whether both belong to the same host: other devices send from arbitrary ports. */
    public boolean sameHost(Peer other) {
        return gidLow == other.gidLow && gidHigh == other.gidHigh;
    }

    /** Returns whether it has this address, in two halves as in its GID, and port. */
    boolean is(long high, long low, int port) {
        return low == gidLow && high == gidHigh && port == address.getPort();
    }

    UdpFlow fromThem(int index) {
        if (fromThem[index] == null) {
            fromThem[index] = UdpFlow.of(address, own.get(index));
        }
        return fromThem[index];
    }

    /** Returns the flow from one of the own sockets, by its number. */
    UdpFlow toThem(int socket) {
        if (socket >= toThem.length) {
            toThem = Arrays.copyOf(toThem, own.size());
        }
        if (toThem[socket] == null) {
            toThem[socket] = UdpFlow.of(own.get(socket), address);
        }
        return toThem[socket];
    }

    /** Returns the link in shared memory for one of the own sockets, or null. */
    RingLink link(int index) {
        return links == null ? null : links[index];
    }

    /** Sets it. */
    void link(int index, RingLink link) {
        if (links == null) {
            links = new RingLink[fromThem.length];
        }
        links[index] = link;
    }

    /**
     * Returns whether a source port is also the port that the device receives at. Soft-RoCE and network cards send from
     * higher ports.
     */
    public static boolean receivesWhereItSends(int port) {
        return port < UdpFlow.FIRST_SOURCE_PORT;
    }
}
