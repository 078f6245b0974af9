package org.rdmapanama.soft;

/** Where datagrams go, or a connection: a GID of the other side, and which of our own to send from. */
final class SoftAddressHandle {
    /** Of the C structure, for address handles; null for the address of a connection. */
    final NativeBlock struct;

    final int number;

    /** The protection domain's number, which datagrams must share with the queue pair that sends them. */
    final int protectionDomain;

    /** The other side's GID: its first and its last eight bytes, most significant byte first. */
    final long gidHigh;

    final long gidLow;

    /** Place of our own GID in the table. */
    final int sourceIndex;

    final int hopLimit;
    final int trafficClass;

    /** Whether the other side is this device, and nothing need go over a wire. */
    final boolean local;

    /** The other side's socket, or null where none is needed. */
    final Peer peer;

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
    }

    boolean isMulticast() {
        return LocalAddresses.isGroup(gidHigh, gidLow);
    }
}
