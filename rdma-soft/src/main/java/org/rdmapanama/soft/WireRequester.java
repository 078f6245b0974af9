package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Memory;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;

/**
 * The sending half of a queue pair whose peer is elsewhere: makes packets of the work requests, and takes what comes
 * back; IBA specification, section 9.7.5 and following. What gets lost is sent again from the first packet that is
 * missing.
 *
 * <p>Of the send queue's places, those from its tail to {@link #started} have their numbers.
 */
final class WireRequester extends Requester {
    /** How much may be under way: what a socket's buffer takes. */
    private static final int WINDOW_BYTES = 64 << 10;

    private static final int MIN_WINDOW = 8;

    /** Where nothing limits how much is under way, so many packets go out in one turn, so that others have theirs. */
    private static final int PACKETS_PER_TURN = 64;

    /** More packets than half of all numbers cannot be told in order. */
    private static final long MAX_PACKETS = (1 << 23) - 2L * WINDOW_BYTES / 256;

    /** A state of a place in the queue: what it asks for was done here. */
    private static final int DONE = 1;

    /** A state of a place in the queue: the work request fails, with the status that is added. */
    private static final int FAILED = 2;

    private final SoftDevice device;
    private final SendQueue sends;
    private final Segments segments;
    private SoftAddressHandle path;
    private final int mtu;
    private final int window;

    /**
     * A long read is asked for in parts, of so many packets from its first one on: so what is asked for again ends where
     * it ended before, and the peer knows it again.
     */
    private final int readPackets;

    private final boolean reliable;

    /** Number of the next packet. */
    private int next;

    /** Number of the first packet that is not acknowledged. */
    private int oldest;

    /** One more than the highest number that was ever sent. */
    private int farthest;

    /** First place of the queue whose work request has no numbers yet. */
    private int started;

    /** How far into the message of {@code sends.current} the next packet is. */
    private long offset;

    /** Numbers of the last packets of the answers that were asked for, in a ring. */
    private final int[] asked = new int[SoftDevice.MAX_READ_ATOMIC];

    private int firstAsked;
    private int outstanding;

    private boolean pausing;

    /** Whether what follows {@link #oldest} was sent again since something showed that this one is missing. */
    private boolean gapTold;

    WireRequester(SoftQueuePair queuePair, SoftDevice device, SoftAddressHandle path, int mtu, int firstPsn) {
        super(queuePair);
        this.device = device;
        this.path = path;
        this.mtu = mtu;
        sends = queuePair.sends;
        segments = new Segments(device);
        reliable = queuePair.type == Verbs.RC;
        window = Math.max(MIN_WINDOW, WINDOW_BYTES / mtu);
        readPackets = queuePair.maxReadAtomic() > 1 ? window / 2 : window;
        next = firstPsn;
        oldest = firstPsn;
        farthest = firstPsn;
        started = sends.tail;
        sends.current = sends.tail;
    }

    // Sending.

    @Override
    void path(SoftAddressHandle newPath) {
        path = newPath;
    }

    /** Sends as much as may be under way. */
    @Override
    void run() {
        int most = reliable ? Integer.MAX_VALUE : PACKETS_PER_TURN;
        int count = 0;
        while (isSending() && count < most && sendOne()) {
            count++;
        }
        if (count == most && isSending()) {
            device.turns.goOnLater(this);
        }
        if (isWaiting()) {
            queuePair.armTimer();
        }
    }

    /** Whether there is something to send, and it may be sent: while draining, only what has begun. */
    private boolean isSending() {
        int state = queuePair.state();
        return !pausing
                && ((state == Verbs.RTS && sends.current != sends.head)
                        || (state == Verbs.SQD && sends.current != started));
    }

    @Override
    boolean isDrained() {
        return sends.tail == started;
    }

    @Override
    void stop() {
        device.turns.forget(this);
    }

    @Override
    boolean isWaiting() {
        return reliable && !pausing && oldest != next;
    }

    private int opcodeOf(long slot) {
        return Memory.getInt(slot + SendQueue.OPCODE);
    }

    private static boolean isAtomic(int opcode) {
        return opcode == Verbs.WR_COMPARE_SWAP || opcode == Verbs.WR_FETCH_ADD;
    }

    private static boolean isAnswered(int opcode) {
        return opcode == Verbs.WR_READ || isAtomic(opcode);
    }

    private static long bytesOf(long slot) {
        return Integer.toUnsignedLong(Memory.getInt(slot + SendQueue.BYTES));
    }

    /** One packet, or what needs none; false when it must wait. */
    private boolean sendOne() {
        long slot = sends.slot(sends.current);
        int opcode = opcodeOf(slot);
        if (sends.current == started && !start(slot, opcode)) {
            return false;
        }
        int state = Memory.getInt(slot + SendQueue.STATE);
        if (state != 0) {
            if (state >= FAILED && sends.current != sends.tail) {
                // What is behind it is not to happen, and what is before it is not over.
                return false;
            }
            sends.current++;
            retire();
            return true;
        }
        if (reliable && Psn.compare(next, oldest) >= window) {
            return false;
        }
        if (isAnswered(opcode)) {
            return ask(slot, opcode);
        }
        sendPart(slot, opcode);
        return true;
    }

    /** Gives a work request its numbers; false when it is not its turn. */
    private boolean start(long slot, int opcode) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & Verbs.FLAG_FENCE) != 0 && outstanding > 0) {
            return false;
        }
        int state = isAnswered(opcode) && queuePair.maxReadAtomic() == 0
                ? Verbs.LOC_QP_OP_ERR
                : queuePair.doHere(slot, opcode, reliable);
        int packets = 0;
        if (state == SoftQueuePair.TO_PEER) {
            long count = isAtomic(opcode) ? 1 : Math.max(1, Math.ceilDiv(bytesOf(slot), (long) mtu));
            state = count > MAX_PACKETS ? FAILED + Verbs.LOC_LEN_ERR : 0;
            packets = state == 0 ? (int) count : 0;
        } else {
            state = state == Verbs.SUCCESS ? DONE : FAILED + state;
        }
        Memory.putInt(slot + SendQueue.STATE, state);
        Memory.putInt(slot + SendQueue.FIRST_PSN, next);
        Memory.putInt(slot + SendQueue.LAST_PSN, Psn.add(next, packets - 1));
        offset = 0;
        started++;
        return true;
    }

    /** A packet of a send or a write. */
    private void sendPart(long slot, int opcode) {
        long packet = device.wire().packet();
        long bytes = bytesOf(slot);
        int part = (int) Math.min(mtu, bytes - offset);
        boolean first = offset == 0;
        boolean last = offset + part == bytes;
        int code = Codes.of(opcode, first, last) + (reliable ? 0 : Opcode.UC_SEND_FIRST);
        int flags = Memory.getInt(slot + SendQueue.FLAGS);
        int pad = -part & 3;
        boolean full = Psn.compare(next, oldest) + 1 >= window;
        Bth.write(
                packet,
                code,
                last && (flags & Verbs.FLAG_SOLICITED) != 0,
                pad,
                Bth.DEFAULT_PKEY,
                queuePair.destination(),
                reliable && (last || full || Psn.compare(next, oldest) == window / 2),
                next);
        if (Opcode.hasReth(code)) {
            Reth.write(
                    packet + Reth.OFFSET,
                    Memory.getLong(slot + SendQueue.REMOTE),
                    Memory.getInt(slot + SendQueue.RKEY),
                    (int) bytes);
        }
        if (Opcode.hasImmediate(code)) {
            ImmDt.write(packet + Opcode.immediateOffset(code), Memory.getInt(slot + SendQueue.IMMEDIATE));
        }
        if (Opcode.hasInvalidate(code)) {
            Ieth.write(packet + Ieth.OFFSET, Memory.getInt(slot + SendQueue.IMMEDIATE));
        }
        long payload = packet + Opcode.headerBytes(code);
        if (!queuePair.copyPart(slot, offset, payload, part, segments)) {
            Memory.putInt(slot + SendQueue.STATE, FAILED + Verbs.LOC_PROT_ERR);
            return;
        }
        Memory.zero(payload + part, pad);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(code) + part + pad);
        advance(1);
        offset += part;
        if (last) {
            endOfMessage();
        }
    }

    private void endOfMessage() {
        sends.current++;
        offset = 0;
        if (!reliable) {
            oldest = next;
            retire();
        }
    }

    private void advance(int packets) {
        next = Psn.add(next, packets);
        if (Psn.compare(next, farthest) > 0) {
            farthest = next;
        }
    }

    /** A part of a read, or an atomic; false when too many are under way. */
    private boolean ask(long slot, int opcode) {
        if (outstanding >= queuePair.maxReadAtomic()) {
            return false;
        }
        long packet = device.wire().packet();
        boolean atomic = isAtomic(opcode);
        int code = Codes.of(opcode, true, true);
        Bth.write(packet, code, false, 0, Bth.DEFAULT_PKEY, queuePair.destination(), true, next);
        long remote = Memory.getLong(slot + SendQueue.REMOTE);
        int rkey = Memory.getInt(slot + SendQueue.RKEY);
        int packets = 1;
        if (atomic) {
            long compareAdd = Memory.getLong(slot + SendQueue.COMPARE_ADD);
            boolean add = opcode == Verbs.WR_FETCH_ADD;
            AtomicEth.write(
                    packet + AtomicEth.OFFSET,
                    remote,
                    rkey,
                    add ? compareAdd : Memory.getLong(slot + SendQueue.SWAP),
                    add ? 0 : compareAdd);
        } else {
            long sent = offset / mtu;
            long part = Math.min(bytesOf(slot) - offset, (readPackets - sent % readPackets) * mtu);
            packets = (int) Math.max(1, Math.ceilDiv(part, (long) mtu));
            if (Psn.compare(next, oldest) + packets > window) {
                return false;
            }
            Reth.write(packet + Reth.OFFSET, remote + offset, rkey, (int) part);
            offset += part;
        }
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(code));
        advance(packets);
        asked[(firstAsked + outstanding++) % asked.length] = Psn.add(next, -1);
        if (atomic || offset == bytesOf(slot)) {
            endOfMessage();
        }
        return true;
    }

    // What comes back.

    @Override
    void receive(long packet, int opcode, int payloadBytes) {
        int psn = Bth.psn(packet);
        if (Psn.compare(psn, oldest) < 0 || Psn.compare(psn, farthest) >= 0) {
            return;
        }
        if (Opcode.isReadResponse(opcode)) {
            response(psn, packet + Opcode.headerBytes(opcode), payloadBytes);
        } else if (opcode == Opcode.RC_ATOMIC_ACKNOWLEDGE) {
            atomicResponse(psn, AtomicAckEth.original(packet + AtomicAckEth.OFFSET));
        } else if (opcode == Opcode.RC_ACKNOWLEDGE) {
            acknowledged(psn, Aeth.syndrome(packet + Aeth.OFFSET));
        }
        run();
    }

    private void acknowledged(int psn, int syndrome) {
        if (Aeth.isAck(syndrome)) {
            coverUpTo(Psn.next(psn));
            return;
        }
        if (!coverUpTo(psn)) {
            return;
        }
        if (Aeth.isRnrNak(syndrome)) {
            rewind();
            if (!pausing && queuePair.mayRetryWhenReady()) {
                pausing = true;
                queuePair.pause(Aeth.rnrNanos(Aeth.code(syndrome)));
            }
            return;
        }
        if (Aeth.code(syndrome) == Aeth.PSN_SEQUENCE_ERROR) {
            if (!pausing) {
                rewindOnce();
            }
            return;
        }
        if (sends.tail != started) {
            queuePair.failFirst(statusOf(Aeth.code(syndrome)));
        }
    }

    private static int statusOf(int nak) {
        return switch (nak) {
            case Aeth.INVALID_REQUEST -> Verbs.REM_INV_REQ_ERR;
            case Aeth.REMOTE_ACCESS_ERROR -> Verbs.REM_ACCESS_ERR;
            case Aeth.INVALID_RD_REQUEST -> Verbs.REM_INV_RD_REQ_ERR;
            default -> Verbs.REM_OP_ERR;
        };
    }

    /**
     * All packets before a number have arrived. False when answers to some of them are missing, which are asked for
     * again, once, or when the queue pair fails.
     */
    private boolean coverUpTo(int psn) {
        int before = oldest;
        boolean complete = true;
        for (int i = sends.tail; i != started && Psn.compare(oldest, psn) < 0; i++) {
            long slot = sends.slot(i);
            int following = Psn.next(Memory.getInt(slot + SendQueue.LAST_PSN));
            if (Psn.compare(following, oldest) <= 0) {
                continue;
            }
            if (isAnswered(opcodeOf(slot))) {
                complete = false;
                break;
            }
            oldest = Psn.compare(following, psn) <= 0 ? following : psn;
        }
        if (oldest != before) {
            progress();
        }
        if (!complete) {
            rewindOnce();
        }
        return complete && queuePair.state() != Verbs.ERR;
    }

    /** The next packets are acknowledged: time begins anew, and what is complete is over. */
    private void progress() {
        queuePair.resetRetries();
        // Whoever was not ready was reached after all.
        pausing = false;
        gapTold = false;
        while (outstanding > 0 && Psn.compare(asked[firstAsked], oldest) < 0) {
            firstAsked = (firstAsked + 1) % asked.length;
            outstanding--;
        }
        if (Psn.compare(oldest, next) > 0) {
            seek(oldest);
        }
        retire();
        queuePair.resetTimer();
    }

    private void response(int psn, long payload, int bytes) {
        if (!coverUpTo(psn) || sends.tail == started) {
            return;
        }
        long slot = sends.slot(sends.tail);
        if (opcodeOf(slot) != Verbs.WR_READ || psn != oldest) {
            return;
        }
        long at = (long) Psn.compare(psn, Memory.getInt(slot + SendQueue.FIRST_PSN)) * mtu;
        if (bytes != Math.min(mtu, bytesOf(slot) - at)) {
            queuePair.failFirst(Verbs.BAD_RESP_ERR);
            return;
        }
        if (!queuePair.takePart(slot, at, payload, bytes, segments)) {
            queuePair.failFirst(Verbs.LOC_PROT_ERR);
            return;
        }
        oldest = Psn.next(psn);
        progress();
    }

    private void atomicResponse(int psn, long original) {
        if (!coverUpTo(psn) || sends.tail == started) {
            return;
        }
        long slot = sends.slot(sends.tail);
        if (!isAtomic(opcodeOf(slot)) || psn != oldest) {
            return;
        }
        device.scratch(original);
        if (!queuePair.takePart(slot, 0, device.scratch(), Long.BYTES, segments)) {
            queuePair.failFirst(Verbs.LOC_PROT_ERR);
            return;
        }
        oldest = Psn.next(psn);
        progress();
    }

    /** Ends the work requests of which all is acknowledged. */
    private void retire() {
        while (sends.tail != started) {
            long slot = sends.slot(sends.tail);
            int state = Memory.getInt(slot + SendQueue.STATE);
            if (state >= FAILED) {
                queuePair.failFirst(state - FAILED);
                return;
            }
            if (state != DONE && Psn.compare(Memory.getInt(slot + SendQueue.LAST_PSN), oldest) >= 0) {
                return;
            }
            if (sends.current == sends.tail) {
                // Acknowledged by what was sent before it was to be sent again.
                sends.current++;
                offset = 0;
            }
            queuePair.completeFirst();
        }
    }

    // Again.

    /** The same, unless it was done for this gap already: what comes of that, or the timer, tells more. */
    private void rewindOnce() {
        if (!gapTold) {
            gapTold = true;
            rewind();
        }
    }

    /** Goes on from the first packet that is not acknowledged. */
    private void rewind() {
        outstanding = 0;
        seek(oldest);
    }

    /** Goes on from a packet. */
    private void seek(int psn) {
        next = psn;
        int place = sends.tail;
        while (place != started && Psn.compare(Memory.getInt(sends.slot(place) + SendQueue.LAST_PSN), psn) < 0) {
            place++;
        }
        sends.current = place;
        offset = place == started
                ? 0
                : (long) Psn.compare(psn, Memory.getInt(sends.slot(place) + SendQueue.FIRST_PSN)) * mtu;
    }

    @Override
    void expired() {
        if (pausing) {
            pausing = false;
        } else if (!queuePair.mayRetry()) {
            return;
        } else {
            gapTold = false;
            rewind();
        }
        run();
    }
}
