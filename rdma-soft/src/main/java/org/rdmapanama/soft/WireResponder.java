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
 * The answering half of a queue pair whose peer is elsewhere: takes packets in their order, does what they ask for once,
 * and answers; IBA specification, sections 9.7.4 and 9.7.5.
 */
final class WireResponder extends Later {
    /** Packets of read responses that go out in one turn, so that others have theirs. */
    private static final int RESPONSES_PER_TURN = 32;

    /** In place of the bytes of a read: the answer is that of an atomic. */
    private static final long ATOMIC = -1;

    /** There is no complaint that waits. */
    private static final int NO_COMPLAINT = -1;

    /** Without an acknowledgement of them a peer may stop sending, or have no idea what got lost. */
    private static final int MOST_UNASKED = 32;

    /** Packets that one acknowledgement does for at most, where it is put off for the sake of a reply. */
    private static final int MAX_UNACKNOWLEDGED = 8;

    /** Turns without a packet that an acknowledgement is put off for at most. */
    private static final int MAX_PATIENCE = 64;

    /** After so many acknowledgements that nothing came before, whether the peer waits for them is tried anew. */
    private static final int IMPATIENT_BEFORE_TRYING = 256;

    private static final int NONE = 0;
    private static final int SENDING = 1;
    private static final int WRITING = 2;

    private final SoftDevice device;
    private final Responder responder;
    private SoftAddressHandle path;
    private final int mtu;
    private final boolean reliable;

    /** Number of the packet that is to come. */
    private int expected;

    /** How many messages were completed. */
    private int messages;

    /** A gap, or a receiver that is not ready, was told: once is enough. */
    private boolean complained;

    /** What was complained of has come. Soft-RoCE heeds no further complaint before something is acknowledged. */
    private boolean repaired;

    /** How many packets came since the last that was to be acknowledged. */
    private int unasked;

    /** The message of which the first packets are here. */
    private int message = NONE;

    private long received;
    private long writeAddress;
    private long writeBytes;
    private int writeKey;

    /** The next packet is to be acknowledged at the end of the turn. */
    private boolean acknowledging;

    /** How many packets wait for that. */
    private int unacknowledged;

    /** The queue pair has sent something itself since the last message. */
    private boolean posted;

    /** Between the last two messages it had: a reply is to be expected, and goes first. */
    private boolean replies;

    /** Turns without a packet that an acknowledgement is put off for: few for a peer that seems to wait for it. */
    private int patience = MAX_PATIENCE;

    private int impatient;

    /** What is to be said, and done, when the reads before it are answered: the syndrome of a NAK. */
    private int complaint = NO_COMPLAINT;

    /** Whether the queue pair fails with that. */
    private boolean fatal;

    /** Reads and atomics that are to be answered, in their order. */
    private final Questions pending = new Questions(SoftDevice.MAX_READ_ATOMIC);

    /** How much of the first one is answered. */
    private long readDone;

    /** Those answered last, for the case that an answer gets lost. */
    private final Questions answered = new Questions(SoftDevice.MAX_READ_ATOMIC);

    WireResponder(SoftQueuePair queuePair, SoftDevice device, SoftAddressHandle path, int mtu, int firstPsn) {
        super(queuePair);
        this.device = device;
        this.path = path;
        this.mtu = mtu;
        responder = queuePair.responder;
        reliable = queuePair.type == Verbs.RC;
        expected = firstPsn;
    }

    /** Packets go there from now on. */
    void path(SoftAddressHandle newPath) {
        path = newPath;
    }

    /** A request. */
    void receive(long packet, int opcode, int payloadBytes) {
        int distance = Psn.compare(Bth.psn(packet), expected);
        if (!reliable) {
            receiveUnreliable(packet, opcode, payloadBytes, distance);
        } else if (complaint != NO_COMPLAINT && fatal) {
            // Nothing counts any more.
            return;
        } else if (distance == 0) {
            repaired |= complained;
            complained = false;
            complaint = NO_COMPLAINT;
            execute(packet, opcode, payloadBytes);
        } else if (distance < 0) {
            again(packet, opcode);
        } else if (!complained) {
            complained = true;
            complain(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), false);
        }
    }

    /** Of an unreliable connection each message counts that is here as a whole. */
    private void receiveUnreliable(long packet, int opcode, int payloadBytes, int distance) {
        if (distance != 0 && message != NONE) {
            message = NONE;
        }
        if (message == NONE && !Opcode.isStart(opcode)) {
            expected = Psn.next(Bth.psn(packet));
            return;
        }
        expected = Bth.psn(packet);
        execute(packet, opcode, payloadBytes);
        expected = Psn.next(Bth.psn(packet));
    }

    private void execute(long packet, int opcode, int bytes) {
        if (Opcode.isSend(opcode) || Opcode.isRdmaWrite(opcode)) {
            part(packet, opcode, bytes);
        } else if (message != NONE) {
            refuse(Aeth.INVALID_REQUEST);
        } else if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
            read(packet);
        } else if (Opcode.hasAtomicEth(opcode)) {
            atomic(packet, opcode);
        } else {
            refuse(Aeth.INVALID_REQUEST);
        }
    }

    /** A packet of a send or a write. */
    private void part(long packet, int opcode, int bytes) {
        int kind = Opcode.isSend(opcode) ? SENDING : WRITING;
        boolean whole = Opcode.isStart(opcode) ? message == NONE : message == kind;
        boolean fits = Opcode.isEnd(opcode) ? bytes <= mtu : bytes == mtu;
        if (!whole || !fits) {
            refuse(Aeth.INVALID_REQUEST);
            return;
        }
        if (kind == SENDING ? send(packet, opcode, bytes) : write(packet, opcode, bytes)) {
            message = Opcode.isEnd(opcode) ? NONE : kind;
            if (reliable) {
                expected = Psn.next(expected);
                if (Opcode.isEnd(opcode)) {
                    messages++;
                }
                unasked++;
                if (Bth.ackRequest(packet) || repaired || unasked >= MOST_UNASKED) {
                    acknowledge();
                }
            }
        }
    }

    /** Whether it was taken. */
    private boolean send(long packet, int opcode, int bytes) {
        if (Opcode.isStart(opcode)) {
            if (!responder.takeReceive()) {
                notReady();
                return false;
            }
            received = 0;
        }
        int status = responder.checkReceive(received + bytes);
        if (status != Verbs.SUCCESS) {
            failReceive(status, Aeth.REMOTE_OPERATIONAL_ERROR);
            return false;
        }
        responder.receiveAt(received).write(packet + Opcode.headerBytes(opcode), bytes);
        received += bytes;
        if (Opcode.isEnd(opcode)) {
            return endSend(packet, opcode);
        }
        return true;
    }

    private boolean endSend(long packet, int opcode) {
        int flags = 0;
        int immediate = 0;
        if (Opcode.hasImmediate(opcode)) {
            flags = Verbs.WC_FLAG_IMM;
            immediate = ImmDt.immediate(packet + Opcode.immediateOffset(opcode));
        } else if (Opcode.hasInvalidate(opcode)) {
            flags = Verbs.WC_FLAG_INV;
            immediate = Ieth.rkey(packet + Ieth.OFFSET);
            if (!responder.invalidate(immediate)) {
                failReceive(Verbs.REM_INV_REQ_ERR, Aeth.REMOTE_OPERATIONAL_ERROR);
                return false;
            }
        }
        responder.completeReceive(
                Verbs.SUCCESS,
                Verbs.WC_RECV,
                received,
                immediate,
                queuePair.destination(),
                flags,
                Bth.solicited(packet));
        return true;
    }

    private boolean write(long packet, int opcode, int bytes) {
        if (Opcode.isStart(opcode)) {
            writeAddress = Reth.remoteAddress(packet + Reth.OFFSET);
            writeKey = Reth.rkey(packet + Reth.OFFSET);
            writeBytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
            received = 0;
            int status = responder.checkAccess(writeKey, writeAddress, writeBytes, Verbs.REMOTE_WRITE);
            if (status != Verbs.SUCCESS) {
                refuse(nakOf(status));
                return false;
            }
        }
        boolean end = Opcode.isEnd(opcode);
        long after = received + bytes;
        if (end ? after != writeBytes : after >= writeBytes) {
            refuse(Aeth.INVALID_REQUEST);
            return false;
        }
        // The region may have been taken away since the first packet.
        int status = responder.checkAccess(writeKey, writeAddress + received, bytes, Verbs.REMOTE_WRITE);
        if (status != Verbs.SUCCESS) {
            refuse(nakOf(status));
            return false;
        }
        if (Opcode.hasImmediate(opcode) && !responder.takeReceive()) {
            notReady();
            return false;
        }
        if (bytes > 0) {
            Memory.copy(
                    packet + Opcode.headerBytes(opcode), responder.placeOf(writeKey, writeAddress + received), bytes);
        }
        received = after;
        if (Opcode.hasImmediate(opcode)) {
            responder.completeReceive(
                    Verbs.SUCCESS,
                    Verbs.WC_RECV_WITH_IMM,
                    received,
                    ImmDt.immediate(packet + Opcode.immediateOffset(opcode)),
                    queuePair.destination(),
                    Verbs.WC_FLAG_IMM,
                    Bth.solicited(packet));
        }
        return true;
    }

    private static int nakOf(int status) {
        return status == Verbs.REM_ACCESS_ERR ? Aeth.REMOTE_ACCESS_ERROR : Aeth.INVALID_REQUEST;
    }

    private void read(long packet) {
        long address = Reth.remoteAddress(packet + Reth.OFFSET);
        int rkey = Reth.rkey(packet + Reth.OFFSET);
        long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
        int status = responder.checkAccess(rkey, address, bytes, Verbs.REMOTE_READ);
        if (pending.isFull()) {
            // As if it had been lost.
            return;
        }
        if (status != Verbs.SUCCESS) {
            refuse(nakOf(status));
        } else if (isTooMany() || bytes > SoftDevice.MAX_MESSAGE) {
            refuse(Aeth.INVALID_REQUEST);
        } else {
            pending.add(expected, packets(bytes), address, bytes, rkey);
            expected = Psn.add(expected, packets(bytes));
            messages++;
            respond();
        }
    }

    private boolean isTooMany() {
        return pending.fresh() >= queuePair.maxDestinationReadAtomic();
    }

    private int packets(long bytes) {
        return (int) Math.max(1, Math.ceilDiv(bytes, (long) mtu));
    }

    private void atomic(long packet, int opcode) {
        long eth = packet + AtomicEth.OFFSET;
        long address = AtomicEth.remoteAddress(eth);
        int rkey = AtomicEth.rkey(eth);
        int status = responder.checkAccess(rkey, address, Long.BYTES, Verbs.REMOTE_ATOMIC);
        if (status != Verbs.SUCCESS) {
            refuse(nakOf(status));
            return;
        }
        long place = responder.placeOf(rkey, address);
        if ((place & (Long.BYTES - 1)) != 0 || isTooMany()) {
            refuse(Aeth.INVALID_REQUEST);
            return;
        }
        if (pending.isFull()) {
            // As if it had been lost.
            return;
        }
        // It counts before it is done, so that whatever happens it is not done twice.
        int psn = expected;
        expected = Psn.next(expected);
        messages++;
        long before = opcode == Opcode.RC_FETCH_ADD
                ? Memory.getAndAdd(place, AtomicEth.swapOrAdd(eth))
                : Memory.compareAndExchange(place, AtomicEth.compare(eth), AtomicEth.swapOrAdd(eth));
        pending.add(psn, 1, before, ATOMIC, 0);
        respond();
    }

    /** What was done already, and is asked for again since the answer got lost, or comes twice. */
    private void again(long packet, int opcode) {
        if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
            readAgain(packet);
        } else if (Opcode.hasAtomicEth(opcode)) {
            int psn = Bth.psn(packet);
            int place = answered.find(psn);
            if (place >= 0 && answered.bytes(place) == ATOMIC && !pending.isFull()) {
                askAgain(psn, 1, answered.address(place), ATOMIC, 0);
            }
        } else if (Opcode.isEnd(opcode) || Bth.ackRequest(packet)) {
            acknowledge();
        }
    }

    private void readAgain(long packet) {
        int psn = Bth.psn(packet);
        int place = pending.find(psn);
        if (place >= 0) {
            // It has its answer still to come, or only in part.
            if (place == pending.first()) {
                readDone = Math.min(readDone, (long) Psn.compare(psn, pending.psn(place)) * mtu);
                respond();
            }
            return;
        }
        place = answered.find(psn);
        if (place < 0 || answered.bytes(place) == ATOMIC || pending.isFull()) {
            return;
        }
        long skipped = (long) Psn.compare(psn, answered.psn(place)) * mtu;
        long address = Reth.remoteAddress(packet + Reth.OFFSET);
        long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
        // Not more than was granted the first time.
        if (Reth.rkey(packet + Reth.OFFSET) == answered.key(place)
                && address == answered.address(place) + skipped
                && bytes <= answered.bytes(place) - skipped) {
            askAgain(psn, packets(bytes), address, bytes, answered.key(place));
        }
    }

    /** Its answer goes before those to what came later, of which some may be under way: they begin anew. */
    private void askAgain(int psn, int packets, long address, long bytes, int key) {
        if (pending.insert(psn, packets, address, bytes, key)) {
            readDone = 0;
        }
        respond();
    }

    // Answers.

    private void acknowledge() {
        if (acknowledging && replies) {
            // The peer went on without.
            patience = MAX_PATIENCE;
            impatient = 0;
        }
        replies = posted;
        posted = false;
        repaired = false;
        unasked = 0;
        unacknowledged++;
        if (!acknowledging) {
            acknowledging = true;
            device.turns.atEndOfTurn(this);
        }
    }

    /** The queue pair sends something. */
    void posted() {
        posted = true;
    }

    /**
     * Whether the peer, who gets a reply, can do without an acknowledgement for longer than so many turns without a packet.
     * If it cannot go on without, it gets them earlier from now on.
     */
    @Override
    boolean canWait(int turns) {
        boolean could = replies && pending.count() == 0 && unacknowledged < MAX_UNACKNOWLEDGED && turns != Turns.NOW;
        if (could && turns >= patience) {
            impatient++;
            patience = impatient % IMPATIENT_BEFORE_TRYING == 0 ? MAX_PATIENCE : patience / 2;
            return false;
        }
        return could;
    }

    /** Sends what was put off; what is still more, in the next turn. */
    @Override
    void endTurn() {
        respond();
        if (pending.count() == 0) {
            endAnswers();
        }
    }

    /** What comes behind all reads: an acknowledgement, or a complaint. */
    private void endAnswers() {
        if (acknowledging && queuePair.canReceive()) {
            // Also before a complaint: behind it, it would tell nothing new, and Soft-RoCE would not heed it.
            acknowledged();
            answer(Aeth.ACK, Psn.add(expected, -1));
        }
        if (complaint != NO_COMPLAINT) {
            int syndrome = complaint;
            complaint = NO_COMPLAINT;
            answer(syndrome, expected);
            if (fatal) {
                queuePair.fail();
            }
        }
    }

    private void answer(int syndrome, int psn) {
        if (!reliable) {
            return;
        }
        long packet = device.wire().packet();
        writeBase(packet, Opcode.RC_ACKNOWLEDGE, 0, psn);
        Aeth.write(packet + Aeth.OFFSET, syndrome, messages);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(Opcode.RC_ACKNOWLEDGE));
    }

    private void writeBase(long packet, int opcode, int pad, int psn) {
        Bth.write(packet, opcode, false, pad, Bth.DEFAULT_PKEY, queuePair.destination(), false, psn);
    }

    /** Answers what is pending, as many packets as may go in one turn, and what comes behind. */
    private void respond() {
        for (int i = 0; i < RESPONSES_PER_TURN && pending.count() > 0; i++) {
            respondOnce();
        }
        if (pending.count() > 0) {
            device.turns.goOnLater(this);
        } else if (complaint != NO_COMPLAINT) {
            endAnswers();
        }
    }

    private void respondOnce() {
        int at = pending.first();
        if (pending.bytes(at) == ATOMIC) {
            answerAtomic(pending.psn(at), pending.address(at));
            endAnswer();
            return;
        }
        long bytes = pending.bytes(at);
        int part = (int) Math.min(mtu, bytes - readDone);
        boolean first = readDone == 0;
        boolean last = readDone + part == bytes;
        int psn = Psn.add(pending.psn(at), (int) (readDone / mtu));
        long address = pending.address(at) + readDone;
        // The region may have been taken away since.
        if (responder.checkAccess(pending.key(at), address, part, Verbs.REMOTE_READ) != Verbs.SUCCESS) {
            if (pending.isAgain(at)) {
                // Who asks may well have the answer.
                endAnswer();
                return;
            }
            pending.clear();
            acknowledged();
            answer(Aeth.nak(Aeth.REMOTE_ACCESS_ERROR), psn);
            queuePair.fail();
            return;
        }
        int opcode = responseCode(first, last);
        int pad = -part & 3;
        long packet = device.wire().packet();
        writeBase(packet, opcode, pad, psn);
        if (Opcode.hasAeth(opcode)) {
            Aeth.write(packet + Aeth.OFFSET, Aeth.ACK, messages);
        }
        long payload = packet + Opcode.headerBytes(opcode);
        if (part > 0) {
            Memory.copy(responder.placeOf(pending.key(at), address), payload, part);
        }
        Memory.zero(payload + part, pad);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(opcode) + part + pad);
        readDone += part;
        if (last) {
            endAnswer();
        }
    }

    /** The first one that was pending is answered. */
    private void endAnswer() {
        int at = pending.first();
        if (!pending.isAgain(at)) {
            answered.addLatest(
                    pending.psn(at), pending.packets(at), pending.address(at), pending.bytes(at), pending.key(at));
        }
        pending.removeFirst();
        readDone = 0;
    }

    private void answerAtomic(int psn, long before) {
        if (Psn.next(psn) == expected) {
            // It is the last one, and does for all before.
            acknowledged();
        }
        long packet = device.wire().packet();
        writeBase(packet, Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, psn);
        Aeth.write(packet + Aeth.OFFSET, Aeth.ACK, messages);
        AtomicAckEth.write(packet + AtomicAckEth.OFFSET, before);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(Opcode.RC_ATOMIC_ACKNOWLEDGE));
    }

    private static int responseCode(boolean first, boolean last) {
        if (first) {
            return last ? Opcode.RC_RDMA_READ_RESPONSE_ONLY : Opcode.RC_RDMA_READ_RESPONSE_FIRST;
        }
        return last ? Opcode.RC_RDMA_READ_RESPONSE_LAST : Opcode.RC_RDMA_READ_RESPONSE_MIDDLE;
    }

    private void acknowledged() {
        acknowledging = false;
        unacknowledged = 0;
    }

    /** Answers nothing any more, but for what has arrived and was not acknowledged yet. */
    void stop() {
        pending.clear();
        complaint = NO_COMPLAINT;
        endAnswers();
        acknowledged();
        device.turns.forget(this);
    }

    private void notReady() {
        if (!reliable) {
            message = NONE;
            return;
        }
        complained = true;
        complain(Aeth.rnrNak(queuePair.minRnrTimer()), false);
    }

    /** Says so, behind the answers that come before. */
    private void complain(int syndrome, boolean isFatal) {
        complaint = syndrome;
        fatal = isFatal;
        if (pending.count() == 0) {
            endAnswers();
        }
    }

    /** The receive cannot take the message. */
    private void failReceive(int status, int nak) {
        message = NONE;
        if (!reliable) {
            return;
        }
        responder.completeReceive(status, Verbs.WC_RECV, 0, 0, 0, 0, true);
        complain(Aeth.nak(nak), true);
    }

    /** What the peer wants cannot be: the end of a reliable connection. */
    private void refuse(int nak) {
        message = NONE;
        if (reliable) {
            complain(Aeth.nak(nak), true);
        }
    }
}
