package org.rdmapanama.soft.net;

import org.rdmapanama.ffm.internal.Datagrams;
import org.rdmapanama.soft.wire.Ecn;

/**
 * Receives many packets of one peer with one system call, on Linux. Where packets come one by one, the kernel is told not to
 * join any: looking whether it has joined some takes it long enough to be seen in a round trip.
 */
final class SegmentReceiver extends PacketReceiver {
    /** After so many packets that came alone, or directly behind another one, the kernel is told. */
    private static final int ENOUGH = 32;

    /** How many of these one of the other kind makes up for: acknowledgements come in between. */
    private static final int MAKES_UP = 4;

    private final int fd;
    private final Datagrams datagrams;
    private final Peers peers;

    /** Where the packets that are not taken yet begin and end, and their size. */
    private int rest;

    private int end;
    private int segment;

    /** How many of them have been taken. */
    private int taken;

    /** Whether the kernel joins packets. */
    private boolean joins = true;

    /** What was received since there was nothing: 0, 1 packet, or 2 for more. */
    private int together;

    /** How many packets more than usual came otherwise than they should for {@link #joins}. */
    private int otherwise;

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
        at(rest, Math.min(segment, end - rest), taken++);
        rest += length();
        return true;
    }

    private boolean receive() {
        int received = datagrams.receive(fd, address, Datagrams.MAX_RECEIVE_BYTES);
        if (received < 0) {
            if (together == 1) {
                cameAlone();
            }
            together = 0;
            return false;
        }
        if (datagrams.wasCut()) {
            // No packet of this protocol is so long. It counts as an empty one, which is not valid.
            received = 0;
        }
        int told = datagrams.segment();
        // The kernel joins only packets that have the same mark.
        marked(datagrams.ecn() == Ecn.CONGESTED);
        segment = told > 0 ? told : received;
        if (segment != BELL_BYTES) {
            noteTogether(told > 0);
        }
        from(peers.at(datagrams.sender(), from()));
        rest = 0;
        taken = 0;
        end = received;
        return true;
    }

    private void noteTogether(boolean joined) {
        if (together > 0 || joined) {
            cameTogether();
            together = 2;
        } else {
            together = 1;
        }
    }

    private void cameAlone() {
        note(joins);
    }

    private void cameTogether() {
        note(!joins);
    }

    private void note(boolean isOtherwise) {
        otherwise = isOtherwise ? otherwise + 1 : Math.max(0, otherwise - MAKES_UP);
        if (otherwise == ENOUGH) {
            otherwise = 0;
            if (joins) {
                expectAlone();
            } else {
                expectTogether();
            }
        }
    }

    private void expectTogether() {
        joins = true;
        datagrams.receiveSegments(fd, true);
    }

    /**
     * Tells the kernel not to join packets. It would not tell the size of those that it has joined by then, and they would be
     * lost: if something waits, it goes on joining. Whether it joins is decided when packets are queued.
     */
    void expectAlone() {
        joins = false;
        datagrams.receiveSegments(fd, false);
        if (datagrams.isWaiting(fd)) {
            expectTogether();
        }
    }

    @Override
    boolean hasMore() {
        return rest < end;
    }
}
