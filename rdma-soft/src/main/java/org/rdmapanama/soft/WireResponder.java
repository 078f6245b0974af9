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
final class WireResponder {
    /** Packets of read responses that go out in one turn, so that others have theirs. */
    private static final int RESPONSES_PER_TURN = 32;

    /** Without an acknowledgement of them a peer may stop sending, or have no idea what got lost. */
    private static final int MOST_UNACKNOWLEDGED = 32;

    private static final int NONE = 0;
    private static final int SENDING = 1;
    private static final int WRITING = 2;

    private final SoftQueuePair queuePair;
    private final SoftDevice device;
    private final Responder responder;
    private final SoftAddressHandle path;
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

    /** How many packets came since. */
    private int unacknowledged;

    /** The message of which the first packets are here. */
    private int message = NONE;

    private long received;
    private long writeAddress;
    private long writeBytes;
    private int writeKey;

    /** Whether it is in the device's list of those that have something to send. */
    boolean queued;

    /** The next packet is to be acknowledged at the end of the turn. */
    private boolean acknowledging;

    // Reads that are being answered, in a ring.
    private final long[] readAddress = new long[SoftDevice.MAX_READ_ATOMIC];
    private final long[] readBytes = new long[SoftDevice.MAX_READ_ATOMIC];
    private final int[] readKey = new int[SoftDevice.MAX_READ_ATOMIC];
    private final int[] readPsn = new int[SoftDevice.MAX_READ_ATOMIC];
    private int firstRead;
    private int reads;

    /** How much of the first one is answered. */
    private long readDone;

    // The atomics done last, for the case that the answer gets lost.
    private final int[] atomicPsn = new int[SoftDevice.MAX_READ_ATOMIC];
    private final long[] atomicResult = new long[SoftDevice.MAX_READ_ATOMIC];
    private int atomics;

    WireResponder(SoftQueuePair queuePair, SoftDevice device, SoftAddressHandle path, int mtu, int firstPsn) {
        this.queuePair = queuePair;
        this.device = device;
        this.path = path;
        this.mtu = mtu;
        responder = queuePair.responder;
        reliable = queuePair.type == Verbs.RC;
        expected = firstPsn;
    }

    /** A request. */
    void receive(long packet, int opcode, int payloadBytes) {
        int distance = Psn.compare(Bth.psn(packet), expected);
        if (!reliable) {
            receiveUnreliable(packet, opcode, payloadBytes, distance);
        } else if (distance == 0) {
            repaired |= complained;
            complained = false;
            execute(packet, opcode, payloadBytes);
        } else if (distance < 0) {
            again(packet, opcode);
        } else if (!complained) {
            complained = true;
            // Behind the complaint it would tell nothing new, and Soft-RoCE would not heed it.
            acknowledgeNow();
            answer(Aeth.nak(Aeth.PSN_SEQUENCE_ERROR), expected);
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
                unacknowledged++;
                if (Bth.ackRequest(packet) || repaired || unacknowledged >= MOST_UNACKNOWLEDGED) {
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
        if (addRead(packet)) {
            long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
            expected = Psn.add(expected, (int) Math.max(1, Math.ceilDiv(bytes, (long) mtu)));
            messages++;
            respond();
        }
    }

    private boolean addRead(long packet) {
        long address = Reth.remoteAddress(packet + Reth.OFFSET);
        int rkey = Reth.rkey(packet + Reth.OFFSET);
        long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
        int status = responder.checkAccess(rkey, address, bytes, Verbs.REMOTE_READ);
        if (status != Verbs.SUCCESS) {
            refuse(nakOf(status));
            return false;
        }
        if (reads >= queuePair.maxDestinationReadAtomic() || bytes > SoftDevice.MAX_MESSAGE) {
            refuse(Aeth.INVALID_REQUEST);
            return false;
        }
        int place = (firstRead + reads++) % readAddress.length;
        readAddress[place] = address;
        readBytes[place] = bytes;
        readKey[place] = rkey;
        readPsn[place] = Bth.psn(packet);
        return true;
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
        if ((place & (Long.BYTES - 1)) != 0) {
            refuse(Aeth.INVALID_REQUEST);
            return;
        }
        // Answers go out in the order of the questions.
        respondToAll();
        long before = opcode == Opcode.RC_FETCH_ADD
                ? Memory.getAndAdd(place, AtomicEth.swapOrAdd(eth))
                : Memory.compareAndExchange(place, AtomicEth.compare(eth), AtomicEth.swapOrAdd(eth));
        int psn = Bth.psn(packet);
        int slot = atomics++ % atomicPsn.length;
        atomicPsn[slot] = psn;
        atomicResult[slot] = before;
        expected = Psn.next(expected);
        messages++;
        answerAtomic(psn, before);
    }

    private void answerAtomic(int psn, long before) {
        acknowledging = false;
        long packet = device.wire().packet();
        writeBase(packet, Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, psn);
        Aeth.write(packet + Aeth.OFFSET, Aeth.ACK, messages);
        AtomicAckEth.write(packet + AtomicAckEth.OFFSET, before);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(Opcode.RC_ATOMIC_ACKNOWLEDGE));
    }

    /** What was done already, and is asked for again since the answer got lost. */
    private void again(long packet, int opcode) {
        if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
            // Who asks again asks for all that follows, too.
            reads = 0;
            readDone = 0;
            if (addRead(packet)) {
                respond();
            }
        } else if (Opcode.hasAtomicEth(opcode)) {
            int psn = Bth.psn(packet);
            for (int i = 1; i <= Math.min(atomics, atomicPsn.length); i++) {
                int slot = (atomics - i) % atomicPsn.length;
                if (atomicPsn[slot] == psn) {
                    answerAtomic(psn, atomicResult[slot]);
                    return;
                }
            }
        } else if (Opcode.isEnd(opcode) || Bth.ackRequest(packet)) {
            acknowledge();
        }
    }

    // Answers.

    private void acknowledge() {
        repaired = false;
        unacknowledged = 0;
        if (!acknowledging) {
            acknowledging = true;
            device.atEndOfTurn(this);
        }
    }

    /** Sends what was put off; what is still more, in the next turn. */
    void endTurn() {
        if (reads > 0) {
            respond();
        }
        acknowledgeNow();
    }

    /** Sends the acknowledgement that was put off, unless answers to reads come first. */
    private void acknowledgeNow() {
        if (reads == 0 && acknowledging && queuePair.canReceive()) {
            acknowledging = false;
            answer(Aeth.ACK, Psn.add(expected, -1));
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

    /** Answers reads, as many packets as may go in one turn. */
    private void respond() {
        for (int i = 0; i < RESPONSES_PER_TURN && reads > 0; i++) {
            respondOnce();
        }
        if (reads > 0) {
            device.atEndOfTurn(this);
        }
    }

    private void respondToAll() {
        while (reads > 0) {
            respondOnce();
        }
    }

    private void respondOnce() {
        int at = firstRead;
        long bytes = readBytes[at];
        int part = (int) Math.min(mtu, bytes - readDone);
        boolean first = readDone == 0;
        boolean last = readDone + part == bytes;
        int psn = Psn.add(readPsn[at], (int) (readDone / mtu));
        // The region may have been taken away since.
        if (responder.checkAccess(readKey[at], readAddress[at] + readDone, part, Verbs.REMOTE_READ) != Verbs.SUCCESS) {
            reads = 0;
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
            Memory.copy(responder.placeOf(readKey[at], readAddress[at] + readDone), payload, part);
        }
        Memory.zero(payload + part, pad);
        device.wire().send(path.peer, path.sourceIndex, Opcode.headerBytes(opcode) + part + pad);
        readDone += part;
        if (last) {
            firstRead = (firstRead + 1) % readAddress.length;
            reads--;
            readDone = 0;
        }
    }

    private static int responseCode(boolean first, boolean last) {
        if (first) {
            return last ? Opcode.RC_RDMA_READ_RESPONSE_ONLY : Opcode.RC_RDMA_READ_RESPONSE_FIRST;
        }
        return last ? Opcode.RC_RDMA_READ_RESPONSE_LAST : Opcode.RC_RDMA_READ_RESPONSE_MIDDLE;
    }

    /** Answers nothing any more. */
    void stop() {
        reads = 0;
        acknowledging = false;
        device.forget(this);
        queued = false;
    }

    private void notReady() {
        complained = true;
        answer(Aeth.rnrNak(queuePair.minRnrTimer()), expected);
    }

    /** The receive cannot take the message. */
    private void failReceive(int status, int nak) {
        message = NONE;
        if (!reliable) {
            return;
        }
        answer(Aeth.nak(nak), expected);
        responder.completeReceive(status, Verbs.WC_RECV, 0, 0, 0, 0, true);
        queuePair.fail();
    }

    /** What the peer wants cannot be: the end of a reliable connection. */
    private void refuse(int nak) {
        message = NONE;
        if (!reliable) {
            return;
        }
        answer(Aeth.nak(nak), expected);
        queuePair.fail();
    }
}
