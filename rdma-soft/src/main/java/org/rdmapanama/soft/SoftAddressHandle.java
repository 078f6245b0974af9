package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.NativeBlock;
import org.rdmapanama.soft.net.Gids;
import org.rdmapanama.soft.net.Peer;

/**
 * A resolved destination of datagrams or of a connection: the GID of the peer, the local GID to send from, and the
 * socket of the peer. {@link SoftDevice#route} creates it, for address handles and for connected queue pairs.
 * Immutable but for {@link #socket}, which a connected queue pair sets for itself.
 */
final class SoftAddressHandle {
    /** The memory of the C structure of an address handle; null for the address of a connection. */
    final NativeBlock struct;

    final int number;

    /** The protection domain's number, which datagrams must share with the queue pair that sends them. */
    final int protectionDomain;

    /** The GID of the peer: its first and its last eight bytes, most significant byte first. */
    final long gidHigh;

    final long gidLow;

    /** The index of the local GID. */
    final int sourceIndex;

    final int hopLimit;
    final int trafficClass;

    /** Whether the destination is this device, so that no packets are needed. */
    final boolean local;

    /** The socket of the peer; null for local and multicast destinations. */
    final Peer peer;

    /** The number of the own socket to send from: at first the one that receives, whose number is the index of the local GID. */
    int socket;

    SoftAddressHandle(
            NativeBlock struct,
            int number,
            int protectionDomain,
            long gidHigh,
            long gidLow,
            int sourceIndex,
            int hopLimit,
            int trafficClass,
            boolean local,
            Peer peer) {
        this.struct = struct;
        this.number = number;
        this.protectionDomain = protectionDomain;
        this.gidHigh = gidHigh;
        this.gidLow = gidLow;
        this.sourceIndex = sourceIndex;
        this.hopLimit = hopLimit;
        this.trafficClass = trafficClass;
        this.local = local;
        this.peer = peer;
        socket = sourceIndex;
    }

    boolean isMulticast() {
        return Gids.isGroup(gidHigh, gidLow);
    }
}
