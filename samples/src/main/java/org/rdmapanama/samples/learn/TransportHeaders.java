package org.rdmapanama.samples.learn;

import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.InvariantCrc;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Reth;

/** The part of a packet that InfiniBand and both versions of RoCE share: from the base transport header to the invariant CRC. */
final class TransportHeaders {
    private TransportHeaders() {}

    /** Shows the rest of a frame. */
    static void show(FieldTable fields) {
        long packet = fields.address();
        int opcode = Bth.opcode(packet);
        base(fields);
        extended(fields, opcode);
        int pad = Bth.pad(packet);
        fields.data(fields.remaining() - InvariantCrc.BYTES - pad, pad);
        fields.header("ICRC", "invariant CRC");
        fields.field(InvariantCrc.BYTES, "CRC of all that routers do not change");
    }

    private static void base(FieldTable fields) {
        fields.header("BTH", "base transport header");
        long header = fields.address();
        fields.field(1, "operation %s", Opcode.name(Bth.opcode(header)));
        fields.field(
                1,
                "%ssolicited, %s, %d bytes of padding, version %d",
                Bth.solicited(header) ? "" : "not ",
                Bth.migrated(header) ? "path has migrated" : "path has not migrated",
                Bth.pad(header),
                Bth.version(header));
        fields.field(2, "partition key 0x%04x", Bth.pkey(header));
        fields.field(1, Bth.congested(header) ? "tells of congestion" : "tells of no congestion");
        fields.field(3, "to queue pair 0x%06x", Bth.destinationQueuePair(header));
        fields.field(1, Bth.ackRequest(header) ? "asks for an acknowledgement" : "asks for no acknowledgement");
        fields.field(3, "packet sequence number 0x%06x", Bth.psn(header));
    }

    private static void extended(FieldTable fields, int opcode) {
        if (Opcode.hasDeth(opcode)) {
            fields.header("DETH", "datagram extended transport header");
            long header = fields.address();
            fields.field(4, "Q_Key 0x%08x", Deth.qkey(header));
            fields.field(1, "reserved");
            fields.field(3, "from queue pair 0x%06x", Deth.sourceQueuePair(header));
        }
        if (Opcode.hasReth(opcode)) {
            fields.header("RETH", "RDMA extended transport header");
            long header = fields.address();
            fields.field(8, "address 0x%x in the memory of the peer", Reth.remoteAddress(header));
            fields.field(4, "remote key 0x%08x", Reth.rkey(header));
            fields.field(4, "%d bytes in all", Reth.length(header));
        }
        if (Opcode.hasAtomicEth(opcode)) {
            fields.header("AtomicETH", "atomic extended transport header");
            long header = fields.address();
            fields.field(8, "address 0x%x in the memory of the peer", AtomicEth.remoteAddress(header));
            fields.field(4, "remote key 0x%08x", AtomicEth.rkey(header));
            fields.field(8, "%d, to be added or stored", AtomicEth.swapOrAdd(header));
            fields.field(8, "%d, to be compared", AtomicEth.compare(header));
        }
        if (Opcode.hasAeth(opcode)) {
            fields.header("AETH", "acknowledge extended transport header");
            long header = fields.address();
            int syndrome = Aeth.syndrome(header);
            fields.field(
                    1,
                    Aeth.isAck(syndrome) ? "acknowledged, credits code %d" : "not acknowledged, code %d",
                    Aeth.code(syndrome));
            fields.field(3, "message number %d: so many requests were completed", Aeth.msn(header));
        }
        if (Opcode.hasAtomicAckEth(opcode)) {
            fields.header("AtomicAckETH");
            fields.field(8, "%d was there before", AtomicAckEth.original(fields.address()));
        }
        if (Opcode.hasImmediate(opcode)) {
            fields.header("ImmDt");
            fields.field(4, "immediate data %d", fields.next32());
        }
        if (Opcode.hasInvalidate(opcode)) {
            fields.header("IETH", "invalidate extended transport header");
            fields.field(4, "remote key 0x%08x is invalid from now on", Ieth.rkey(fields.address()));
        }
    }
}
