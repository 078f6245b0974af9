package org.rdmapanama.soft.net;

import org.rdmapanama.ffm.internal.Datagrams;

/** Receives many packets of one peer with one system call, on Linux. */
final class SegmentReceiver extends PacketReceiver {
    private final int fd;
    private final Datagrams datagrams;
    private final Peers peers;

    /** Where the packets that are not taken yet begin and end, and their size. */
    private int rest;

    private int end;
    private int segment;

    SegmentReceiver(int fd, Datagrams datagrams, Peers peers) {
        super(Datagrams.MAX_RECEIVE_BYTES);
        this.fd = fd;
        this.datagrams = datagrams;
        this.peers = peers;
    }

    @Override
    boolean next() {
        if (rest == end && !receive()) {
            return false;
        }
        at(rest, Math.min(segment, end - rest));
        rest += length();
        return true;
    }

    private boolean receive() {
        int received = datagrams.receive(fd, address, Datagrams.MAX_RECEIVE_BYTES);
        if (received < 0) {
            return false;
        }
        if (datagrams.wasCut()) {
            // No packet of this protocol is so long. It counts as an empty one, which is not valid.
            received = 0;
        }
        int told = datagrams.segment();
        segment = told > 0 ? told : received;
        from(peers.at(datagrams.sender(), from()));
        rest = 0;
        end = received;
        return true;
    }

    @Override
    boolean hasMore() {
        return rest < end;
    }
}
