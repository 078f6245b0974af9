package org.rdmapanama.soft;

import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.WireCount;

/**
 * The answering half of an RC or UC queue pair whose peer is on another device: takes packets in order, executes each
 * request exactly once, and sends acknowledgements (IBA specification, sections 9.7.4 and 9.7.5). {@link ReadResponder}
 * answers reads and atomics.
 *
 * <p>{@link SoftQueuePair} passes it the packets of the peer; {@link ProgressEngine} lets it answer at the end of a turn.
 * Callers must hold the lock of the device.
 */
final class WireResponder extends DeferredSender {
    /** No NAK is waiting. */
    private static final int NO_COMPLAINT = -1;

    private static final int NO_EVENT = -1;

    /**
     * Acknowledge at least every this many packets, even unasked: a peer may stop sending, or not learn what was lost.
     */
    private static final int MOST_UNASKED = 32;

    private static final int NONE = 0;
    private static final int SENDING = 1;
    private static final int WRITING = 2;

    private final SoftDevice device;
    private final Responder responder;
    private SoftAddressHandle path;
    private final int mtu;
    private final boolean reliable;

    /** PSN of the next expected packet. */
    private int expected;

    /** The number of completed messages (MSN). */
    private int messages;

    /** Whether a NAK for a gap or an RNR NAK has been sent, which must happen only once. */
    private boolean complained;

    /** Whether the packet of the NAK has arrived. Soft-RoCE ignores further NAKs before an acknowledgement. */
    private boolean repaired;

    /** The number of packets since the last one that asked for an acknowledgement. */
    private int unasked;

    /** The kind of message whose first packets have arrived. */
    private int message = NONE;

    private long received;
    private long writeAddress;
    private long writeBytes;
    private int writeKey;

    private final AcknowledgementDelay delay = new AcknowledgementDelay();

    /** The syndrome of the NAK to send once the earlier reads are answered. */
    private int complaint = NO_COMPLAINT;

    /** Whether the queue pair fails with it. */
    private boolean fatal;

    /** The event that tells of that failure, of enum ibv_event_type, or NO_EVENT if a completion has told of it. */
    private int event;

    /** What answers reads and atomics. */
    private final ReadResponder reads;

    WireResponder(SoftQueuePair queuePair, SoftDevice device, SoftAddressHandle path, int mtu, int firstPsn) {
        super(queuePair);
        this.device = device;
        this.path = path;
        this.mtu = mtu;
        responder = queuePair.responder;
        reliable = queuePair.type == VerbsConstants.RC;
        expected = firstPsn;
        reads = new ReadResponder(this, device, mtu);
    }

    /** Sets the address of the peer. */
    void path(SoftAddressHandle newPath) {
        path = newPath;
    }

    SoftAddressHandle path() {
        return path;
    }

    /** Returns whether a request with this PSN continues what came before. */
    boolean isExpected(int psn) {
        return psn == expected;
    }

    /** Handles a request packet. */
    void receive(long packet, int opcode, int payloadBytes) {
        int distance = Psn.compare(Bth.psn(packet), expected);
        if (!reliable) {
            receiveUnreliable(packet, opcode, payloadBytes, distance);
        } else if (complaint != NO_COMPLAINT && fatal) {
            // The queue pair has failed; ignore everything.
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

    /** Handles a packet of an unreliable connection, where only complete messages count. */
    private void receiveUnreliable(long packet, int opcode, int payloadBytes, int distance) {
        if (distance != 0 && message != NONE) {
            message = NONE;
        }
        if (message == NONE && !Opcode.isStart(opcode)) {
            expected = Psn.add(Bth.psn(packet), Psn.count(payloadBytes, mtu));
            return;
        }
        expected = Bth.psn(packet);
        execute(packet, opcode, payloadBytes);
        expected = Psn.add(Bth.psn(packet), Psn.count(payloadBytes, mtu));
    }

    private void execute(long packet, int opcode, int bytes) {
        queuePair.tellEstablished();
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

    /** Handles a packet of a send or a write. */
    private void part(long packet, int opcode, int bytes) {
        int kind = Opcode.isSend(opcode) ? SENDING : WRITING;
        boolean whole = Opcode.isStart(opcode) ? message == NONE : message == kind;
        if (!whole || !fits(opcode, bytes)) {
            refuse(Aeth.INVALID_REQUEST);
            return;
        }
        if (kind == SENDING ? send(packet, opcode, bytes) : write(packet, opcode, bytes)) {
            message = Opcode.isEnd(opcode) ? NONE : kind;
            if (reliable) {
                int packets = Psn.count(bytes, mtu);
                expected = Psn.add(expected, packets);
                if (Opcode.isEnd(opcode)) {
                    messages++;
                }
                unasked += packets;
                if (Bth.ackRequest(packet) || repaired || unasked >= MOST_UNASKED) {
                    acknowledge();
                }
            }
        }
    }

    /** Returns whether a packet may have so much payload: only a message in one packet may have none. */
    private boolean fits(int opcode, int bytes) {
        boolean several = device.wire().isOfSeveral();
        if (!Opcode.isEnd(opcode)) {
            return bytes == mtu || (several && bytes > 0 && bytes % mtu == 0);
        }
        return (bytes <= mtu || several) && (bytes > 0 || Opcode.isStart(opcode));
    }

    /** Handles a packet of a send. Returns whether it was accepted. */
    private boolean send(long packet, int opcode, int bytes) {
        if (Opcode.isStart(opcode)) {
            received = 0;
        }
        Payload data = responder.packet.at(packet + Opcode.headerBytes(opcode));
        int status = responder.send(data, received, bytes, received + bytes);
        if (status == Responder.NOT_READY) {
            notReady();
            return false;
        }
        if (status != VerbsConstants.SUCCESS) {
            failReceive(status, Aeth.REMOTE_OPERATIONAL_ERROR);
            return false;
        }
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
            flags = VerbsConstants.WC_FLAG_IMM;
            immediate = ImmDt.immediate(packet + Opcode.immediateOffset(opcode));
        } else if (Opcode.hasInvalidate(opcode)) {
            flags = VerbsConstants.WC_FLAG_INV;
            immediate = Ieth.rkey(packet + Ieth.OFFSET);
        }
        boolean ended = responder.endSend(received, flags, immediate, queuePair.destination(), Bth.solicited(packet));
        if (!ended) {
            failReceive(VerbsConstants.REM_INV_REQ_ERR, Aeth.REMOTE_OPERATIONAL_ERROR);
        }
        return ended;
    }

    private boolean write(long packet, int opcode, int bytes) {
        if (Opcode.isStart(opcode)) {
            writeAddress = Reth.remoteAddress(packet + Reth.OFFSET);
            writeKey = Reth.rkey(packet + Reth.OFFSET);
            writeBytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
            received = 0;
        }
        long after = received + bytes;
        boolean withImmediate = Opcode.hasImmediate(opcode);
        if (Opcode.isEnd(opcode) ? after != writeBytes : after >= writeBytes) {
            refuse(Aeth.INVALID_REQUEST);
            return false;
        }
        Payload data = responder.packet.at(packet + Opcode.headerBytes(opcode));
        int status = responder.write(data, writeKey, writeAddress, writeBytes, received, bytes, withImmediate);
        if (status == Responder.NOT_READY) {
            notReady();
            return false;
        }
        if (status != VerbsConstants.SUCCESS) {
            refuse(nakOf(status));
            return false;
        }
        received = after;
        if (withImmediate) {
            responder.endWrite(
                    received,
                    ImmDt.immediate(packet + Opcode.immediateOffset(opcode)),
                    queuePair.destination(),
                    Bth.solicited(packet));
        }
        return true;
    }

    private static int nakOf(int status) {
        return status == VerbsConstants.REM_ACCESS_ERR ? Aeth.REMOTE_ACCESS_ERROR : Aeth.INVALID_REQUEST;
    }

    private void read(long packet) {
        long address = Reth.remoteAddress(packet + Reth.OFFSET);
        int rkey = Reth.rkey(packet + Reth.OFFSET);
        long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
        int status = responder.checkAccess(rkey, address, bytes, VerbsConstants.REMOTE_READ);
        if (reads.isFull()) {
            // Treated as lost.
            return;
        }
        if (status != VerbsConstants.SUCCESS) {
            refuse(nakOf(status));
        } else if (reads.areTooMany() || bytes > SoftDevice.MAX_MESSAGE) {
            refuse(Aeth.INVALID_REQUEST);
        } else {
            reads.read(expected, address, bytes, rkey);
            expected = Psn.add(expected, Psn.count(bytes, mtu));
            messages++;
            respond();
        }
    }

    private void atomic(long packet, int opcode) {
        long eth = packet + AtomicEth.OFFSET;
        long address = AtomicEth.remoteAddress(eth);
        int rkey = AtomicEth.rkey(eth);
        int status = responder.checkAtomic(rkey, address);
        if (status != VerbsConstants.SUCCESS) {
            refuse(nakOf(status));
            return;
        }
        if (reads.areTooMany()) {
            refuse(Aeth.INVALID_REQUEST);
            return;
        }
        if (reads.isFull()) {
            // Treated as lost.
            return;
        }
        reads.atomic(expected, opcode, eth);
        expected = Psn.next(expected);
        messages++;
        respond();
    }

    /** Handles a duplicate request: the answer was lost, or the packet was duplicated. */
    private void again(long packet, int opcode) {
        device.counts.add(WireCount.DUPLICATE_REQUESTS);
        if (opcode == Opcode.RC_RDMA_READ_REQUEST || Opcode.hasAtomicEth(opcode)) {
            if (reads.again(packet, opcode)) {
                respond();
            }
        } else if (Opcode.isEnd(opcode) || Bth.ackRequest(packet)) {
            acknowledge();
        }
    }

    // Answers.

    private void acknowledge() {
        repaired = false;
        unasked = 0;
        if (delay.owe()) {
            device.engine.atEndOfTurn(this);
        }
        device.engine.answerSoon();
    }

    /** Called when the queue pair sends something. */
    void posted() {
        delay.posted();
    }

    /** Returns whether all that is due is an acknowledgement that can be delayed beyond this many turns. */
    @Override
    boolean canWait(int turns) {
        return reads.areAnswered() && turns != DeferredSenders.NOW && delay.canWait(turns);
    }

    /** Sends what is due; if there is more, the rest follows in the next turn. */
    @Override
    void endTurn() {
        if (reads.respond()) {
            endAnswers();
        }
    }

    private void respond() {
        if (reads.respond() && complaint != NO_COMPLAINT) {
            endAnswers();
        }
    }

    /** Sends what follows all reads: an acknowledgement or a NAK. */
    private void endAnswers() {
        if (delay.isOwed() && queuePair.canReceive()) {
            // Also before a NAK: after it, the ACK would be redundant, and Soft-RoCE would ignore it.
            if (!answer(Aeth.ACK, Psn.add(expected, -1))) {
                return;
            }
            delay.acknowledged();
        }
        if (complaint != NO_COMPLAINT) {
            if (!answer(complaint, expected)) {
                return;
            }
            countComplaint();
            complaint = NO_COMPLAINT;
            if (fatal) {
                end();
            }
        }
    }

    private void countComplaint() {
        if (Aeth.isRnrNak(complaint)) {
            device.counts.add(WireCount.SENT_RNR_NAKS);
        } else if (Aeth.code(complaint) == Aeth.PSN_SEQUENCE_ERROR) {
            device.counts.add(WireCount.SENT_SEQUENCE_NAKS);
        } else {
            device.counts.add(WireCount.SENT_ERROR_NAKS);
        }
    }

    private void end() {
        if (event == NO_EVENT) {
            queuePair.fail();
        } else {
            queuePair.fail(event);
        }
    }

    /** Answers without data. Returns false if there is no room now, for which this then waits. */
    private boolean answer(int syndrome, int psn) {
        if (!reliable) {
            return true;
        }
        long packet = device.engine.begin(this, path);
        if (packet == 0) {
            return false;
        }
        begin(packet, Opcode.RC_ACKNOWLEDGE, 0, psn);
        Aeth.write(packet + Aeth.OFFSET, syndrome, messages);
        device.wire().send(Opcode.headerBytes(Opcode.RC_ACKNOWLEDGE));
        return true;
    }

    /** Writes the base header of an answer. */
    void begin(long packet, int opcode, int pad, int psn) {
        Bth.write(packet, opcode, false, pad, Bth.DEFAULT_PKEY, queuePair.destination(), false, psn);
    }

    /** Returns the number of completed messages (MSN). */
    int messages() {
        return messages;
    }

    /** Called when a packet has been answered, which acknowledges all before it. */
    void answered(int psn) {
        if (Psn.next(psn) == expected) {
            delay.acknowledged();
        }
    }

    /** Refuses a read or an atomic that was accepted before, because its region has been deregistered since. */
    void refuseLate(int psn) {
        reads.clear();
        delay.acknowledged();
        if (answer(Aeth.nak(Aeth.REMOTE_ACCESS_ERROR), psn)) {
            device.counts.add(WireCount.SENT_ERROR_NAKS);
        }
        queuePair.fail(rdma_h.IBV_EVENT_QP_ACCESS_ERR());
    }

    /** Stops answering, after acknowledging what has arrived. */
    void stop() {
        reads.clear();
        complaint = NO_COMPLAINT;
        endAnswers();
        delay.acknowledged();
        device.engine.forget(this);
    }

    private void notReady() {
        if (!reliable) {
            device.counts.add(WireCount.DROPPED_NO_RECEIVE);
            message = NONE;
            return;
        }
        queuePair.lacksReceive(expected);
        complained = true;
        complain(Aeth.rnrNak(queuePair.minRnrTimer()), false);
    }

    /** Schedules a NAK, after the earlier responses. */
    private void complain(int syndrome, boolean isFatal) {
        complaint = syndrome;
        fatal = isFatal;
        if (reads.areAnswered()) {
            endAnswers();
        }
    }

    /** Fails a receive that cannot take the message. */
    private void failReceive(int status, int nak) {
        message = NONE;
        if (!reliable) {
            device.counts.add(WireCount.DROPPED_TOO_LONG);
            return;
        }
        responder.failReceive(status);
        event = NO_EVENT;
        complain(Aeth.nak(nak), true);
    }

    /** Rejects a request, which ends a reliable connection. */
    private void refuse(int nak) {
        message = NONE;
        if (reliable) {
            event = nak == Aeth.REMOTE_ACCESS_ERROR ? rdma_h.IBV_EVENT_QP_ACCESS_ERR() : rdma_h.IBV_EVENT_QP_REQ_ERR();
            complain(Aeth.nak(nak), true);
        }
    }
}
