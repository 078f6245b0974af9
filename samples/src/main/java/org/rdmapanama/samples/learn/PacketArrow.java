package org.rdmapanama.samples.learn;

import java.util.List;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;

/**
 * A packet between two ends.
 *
 * @param left the name of the end that is drawn on the left
 * @param right the name of the other one
 * @param toTheRight whether the left one sent it
 * @param kind what kind of packet it is
 * @param operation its operation
 * @param details what else it says, with commas
 * @param further whether it is the first packet of another connection of ends that have had one before
 */
record PacketArrow(
        String left, String right, boolean toTheRight, Kind kind, String operation, String details, boolean further) {
    /** What stands before the first packet of a further connection. */
    static final String NEW_CONNECTION = "new connection";

    /** Of so many packets from the first one, and as many up to the last one, are lines printed. */
    private static final int SHOWN = 40;

    private static final int WIDTH = 88;
    private static final String LINE = "─";

    /** The kinds of packets that a reader should tell apart. */
    enum Kind {
        REQUEST("request"),
        ANSWER("answer"),
        REFUSAL("refusal"),
        MANAGER("connection manager");

        final String title;

        Kind(String title) {
            this.title = title;
        }

        /** Returns the kind of a packet by its headers. */
        static Kind of(long packet) {
            int opcode = Bth.opcode(packet);
            if (!Opcode.isResponse(opcode)) {
                return REQUEST;
            }
            int syndrome = Opcode.hasAeth(opcode) ? Aeth.syndrome(packet + Aeth.OFFSET) : 0;
            return Aeth.isNak(syndrome) || Aeth.isRnrNak(syndrome) ? REFUSAL : ANSWER;
        }
    }

    String from() {
        return toTheRight ? left : right;
    }

    String to() {
        return toTheRight ? right : left;
    }

    /** Returns the packets as text, one line each, with an empty line where others are the ends. */
    static String text(List<PacketArrow> arrows) {
        StringBuilder text = new StringBuilder();
        PacketArrow last = null;
        for (PacketArrow each : arrows) {
            if (last != null && !(last.left + last.right).equals(each.left + each.right)) {
                text.append('\n');
            }
            if (each.further) {
                text.append("   ").append(NEW_CONNECTION).append('\n');
            }
            text.append(each.line()).append('\n');
            last = each;
        }
        return text.toString();
    }

    /** The same, but of very many packets only the first and the last ones. */
    static String shortText(List<PacketArrow> arrows) {
        int more = arrows.size() - 2 * SHOWN;
        if (more <= 1) {
            return text(arrows);
        }
        return text(arrows.subList(0, SHOWN)) + "… " + more + " more\n"
                + text(arrows.subList(arrows.size() - SHOWN, arrows.size()));
    }

    private String line() {
        String label = operation + " " + details;
        String shaft = LINE.repeat(Math.max(2, WIDTH - label.length()));
        return toTheRight
                ? left + " ── " + label + " " + shaft + "▶ " + right
                : left + " ◀" + shaft + " " + label + " ── " + right;
    }
}
