package org.rdmapanama.samples.learn;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.rdmapanama.samples.CaptureFile;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Deth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;

/**
 * Finds the packets between the ends of a lesson, which are drawn as arrows, in text or in a picture. Packet sequence
 * numbers count from 0 for each end and each connection, because the first one is random. Packets of other queue pairs are
 * left out, except those of the connection manager that connect the ends.
 */
final class Diagram {
    /** The number of the connection manager's queue pair. */
    private static final int MANAGER = 1;

    /** The types of its messages, indexed by attribute ID minus that of the first type. */
    private static final String[] MESSAGES = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP"};

    /** The answer to a repeated message. */
    private static final String PLEASE_WAIT = "MRA";

    private static final int FIRST_MESSAGE = 0x10;
    private static final int MESSAGE_KIND_OFFSET = 16;
    private static final int SENDER_OFFSET = 24;

    /** Of messages that begin a connection: where they have the number of the sender's queue pair, in 24 bits. */
    private static final Map<String, Integer> QUEUE_PAIR_OFFSETS = Map.of("REQ", 56, "REP", 36);

    private static final int MIN_MESSAGE_BYTES = 60;

    private static final String[] NAKS = {
        "PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request"
    };

    /** Numbers that differ by more are of another connection: no lesson has so many packets under way. */
    private static final int FARTHEST_PSN = 1 << 15;

    private final Map<Integer, Board.End> ends;

    /** By the number of the queue pair that asks. */
    private final Map<Integer, Numbers> numbers = new HashMap<>();

    /** By the names of their ends: the connections seen so far. */
    private final Map<String, Set<String>> connections = new HashMap<>();

    private final List<PacketArrow> arrows = new ArrayList<>();

    /** By the communication IDs of the connections between them. */
    private final Map<Integer, Board.End> connected = new HashMap<>();

    /** Types and senders of the messages drawn so far, and what was exchanged with another process. */
    private final Set<String> drawn = new HashSet<>();

    /** The packet sequence numbers of a queue pair. */
    private static final class Numbers {
        private int first;
        private int last;

        /** How many times the queue pair was connected again after a reset. */
        private int restarts;

        Numbers(int first) {
            this.first = first;
            last = first;
        }

        /** Returns how many packets precede this one in its connection. */
        int countTo(int psn) {
            if (Math.abs(Psn.compare(psn, last)) > FARTHEST_PSN) {
                first = psn;
                restarts++;
            }
            last = psn;
            return Psn.compare(psn, first);
        }
    }

    private Diagram(Map<Integer, Board.End> ends) {
        this.ends = ends;
    }

    /** Returns an arrow for each packet, in the order of the packets. */
    static List<PacketArrow> of(CaptureFile capture, Map<Integer, Board.End> ends) {
        Diagram diagram = new Diagram(ends);
        capture.forEach(diagram::add);
        return diagram.arrows;
    }

    private void add(long packet, int bytes, boolean own) {
        int opcode = Bth.opcode(packet);
        int number = Bth.destinationQueuePair(packet);
        int payload = bytes - Opcode.headerBytes(opcode) - Bth.pad(packet);
        if (number == MANAGER && Opcode.hasDeth(opcode) && payload >= MIN_MESSAGE_BYTES) {
            addMessage(packet + Deth.OFFSET + Deth.BYTES, opcode, payload);
            return;
        }
        Board.End to = ends.get(number);
        if (to == null || !Opcode.isKnown(opcode)) {
            return;
        }
        if (!own && !drawn.add(opcode + " " + number + " " + Bth.psn(packet))) {
            // Another process was slow to answer.
            return;
        }
        Board.End from = ends.get(to.peer());
        int asking = Opcode.isResponse(opcode) ? number : to.peer();
        int psn = numbers.computeIfAbsent(asking, first -> new Numbers(Bth.psn(packet)))
                .countTo(Bth.psn(packet));
        String details = "psn " + psn + String.join("", details(packet, opcode, payload));
        arrow(from, to, PacketArrow.Kind.of(packet), Opcode.name(opcode).substring("RC_".length()), details);
    }

    /**
     * Adds a message of the connection manager, unless it repeats an earlier one because the answer is slow, or belongs to
     * other queue pairs: of another process that looks for a peer here.
     */
    private void addMessage(long message, int opcode, int payload) {
        int kind = (Memory.getNetShort(message + MESSAGE_KIND_OFFSET) & 0xFFFF) - FIRST_MESSAGE;
        if (kind < 0 || kind >= MESSAGES.length) {
            return;
        }
        String name = MESSAGES[kind];
        int sender = Memory.getNetInt(message + SENDER_OFFSET);
        Integer offset = QUEUE_PAIR_OFFSETS.get(name);
        if (offset != null) {
            Board.End end = ends.get(Memory.getNetInt(message + offset) >>> 8);
            if (end != null) {
                connected.put(sender, end);
            }
        }
        Board.End from = connected.get(sender);
        if (from == null || name.equals(PLEASE_WAIT) || !drawn.add(name + sender)) {
            return;
        }
        Board.End to = ends.get(from.peer());
        String details = payload + " B: " + name + " of the connection manager";
        arrow(from, to, PacketArrow.Kind.MANAGER, Opcode.name(opcode), details);
    }

    private static List<String> details(long packet, int opcode, int payload) {
        List<String> details = new ArrayList<>();
        if (Opcode.hasPayload(opcode)) {
            details.add(", " + payload + " B");
        }
        if (Opcode.hasReth(opcode)) {
            long header = packet + Reth.OFFSET;
            if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
                details.add(", wants " + Reth.length(header) + " B");
            } else if (!Opcode.isOnly(opcode)) {
                details.add(" of " + Reth.length(header));
            }
            details.add(String.format(Locale.ROOT, ", rkey 0x%08x", Reth.rkey(header)));
        }
        if (Opcode.hasAtomicEth(opcode)) {
            long header = packet + AtomicEth.OFFSET;
            details.add(
                    opcode == Opcode.RC_FETCH_ADD
                            ? ", adds " + AtomicEth.swapOrAdd(header)
                            : ", if " + AtomicEth.compare(header) + " then " + AtomicEth.swapOrAdd(header));
            details.add(String.format(Locale.ROOT, ", rkey 0x%08x", AtomicEth.rkey(header)));
        }
        if (Opcode.hasImmediate(opcode)) {
            details.add(", immediate " + Memory.getNetInt(packet + Opcode.immediateOffset(opcode)));
        }
        if (Opcode.hasInvalidate(opcode)) {
            details.add(String.format(Locale.ROOT, ", invalidates rkey 0x%08x", Ieth.rkey(packet + Ieth.OFFSET)));
        }
        if (Opcode.hasAeth(opcode)) {
            details.add(syndrome(opcode, Aeth.syndrome(packet + Aeth.OFFSET)));
        }
        if (Opcode.hasAtomicAckEth(opcode)) {
            details.add(", was " + AtomicAckEth.original(packet + AtomicAckEth.OFFSET));
        }
        if (Bth.solicited(packet)) {
            details.add(", solicited");
        }
        if (Bth.ackRequest(packet)) {
            details.add(", asks for ACK");
        }
        return details;
    }

    private static String syndrome(int opcode, int syndrome) {
        int code = Aeth.code(syndrome);
        if (Aeth.isRnrNak(syndrome)) {
            return ", RNR NAK: retry after " + Aeth.rnrNanos(code) / 1_000_000.0 + " ms";
        }
        if (Aeth.isNak(syndrome)) {
            return ", NAK: " + (code < NAKS.length ? NAKS[code] : "code " + code);
        }
        return opcode == Opcode.RC_ACKNOWLEDGE ? ", ACK" : "";
    }

    private void arrow(Board.End from, Board.End to, PacketArrow.Kind kind, String operation, String details) {
        Board.End left = from.left() ? from : to;
        Board.End right = from.left() ? to : from;
        boolean further = isFurther(left, right);
        arrows.add(new PacketArrow(left.name(), right.name(), from.left(), kind, operation, details, further));
    }

    /** Whether this connection has not been seen, but another one between ends of the same names. */
    private boolean isFurther(Board.End left, Board.End right) {
        Set<String> seen = connections.computeIfAbsent(left.name() + " " + right.name(), names -> new HashSet<>());
        int restarts = Math.max(restarts(left.peer()), restarts(right.peer()));
        return seen.add(left.peer() + " " + right.peer() + " " + restarts) && seen.size() > 1;
    }

    private int restarts(int queuePair) {
        Numbers all = numbers.get(queuePair);
        return all == null ? 0 : all.restarts;
    }
}
