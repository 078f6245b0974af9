package org.rdmapanama.samples.learn;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.rdmapanama.samples.CaptureFile;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;

/**
 * Shows the headers of the first packet of each kind, byte by byte, and beside the first RDMA WRITE what it would be in RoCE v1
 * and in iWARP.
 */
final class Headers {
    private final Map<Integer, Board.End> ends;
    private final Set<Integer> shown = new TreeSet<>();
    private final StringBuilder text = new StringBuilder();

    /** The first RDMA WRITE that the other stacks have, or null. */
    private RoceV2Packet write;

    private Headers(Map<Integer, Board.End> ends) {
        this.ends = ends;
    }

    static String of(CaptureFile capture, Map<Integer, Board.End> ends) {
        Headers headers = new Headers(ends);
        capture.forEachInIp(headers::add);
        headers.compare();
        return headers.text.toString();
    }

    private void add(long ip, long packet, int bytes) {
        int opcode = Bth.opcode(packet);
        if (!ends.containsKey(Bth.destinationQueuePair(packet)) || !Opcode.isKnown(opcode) || !shown.add(opcode)) {
            return;
        }
        RoceV2Packet copy = new RoceV2Packet(ip, bytes);
        text.append('\n').append(copy.show().text(Opcode.name(opcode)));
        if (write == null && IwarpPacket.canCarry(opcode)) {
            write = copy;
        }
    }

    private void compare() {
        if (write == null) {
            return;
        }
        String name = Opcode.name(write.opcode());
        FieldTable roceV1 = RoceV1Packet.show(RoceV1Packet.of(write));
        FieldTable iwarp = IwarpPacket.show(IwarpPacket.of(write));
        text.append("\nThe same RDMA WRITE in other stacks, made from that packet:\n");
        text.append('\n').append(roceV1.text(name + " as RoCE v1"));
        text.append('\n').append(iwarp.text(name + " as iWARP"));
        text.append('\n').append(name).append(" in three stacks, bytes of each header\n");
        row("RoCE v2", write.show());
        row("RoCE v1", roceV1);
        row("iWARP", iwarp);
    }

    private void row(String stack, FieldTable fields) {
        text.append(
                String.format(Locale.ROOT, "  %-8s  %s\n            %s\n", stack, fields.overhead(), fields.sizes()));
    }
}
