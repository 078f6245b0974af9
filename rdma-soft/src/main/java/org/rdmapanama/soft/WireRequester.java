package org.rdmapanama.soft;

import org.rdmapanama.soft.events.Retransmission;
import org.rdmapanama.soft.events.RnrWait;
import org.rdmapanama.soft.events.WindowStall;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.net.SendWindow;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Ieth;
import org.rdmapanama.soft.wire.ImmDt;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;
import org.rdmapanama.soft.wire.WireCount;

/**
 * The sending half of an RC or UC queue pair whose peer is on another device: turns work requests into packets, and
 * handles acknowledgements and responses (IBA specification, section 9.7.5 and following). After a loss it retransmits
 * from the first missing packet on. It sends as much as the {@link SendWindow} of the peer admits, and waits without loss
 * while the kernel has no room for a packet.
 *
 * <p>The slots of the send queue from its tail to {@link #started} have their PSNs.
 *
 * <p>{@link SoftQueuePair} runs it for posted work, answers and timeouts, {@link ProgressEngine} at the end of a turn. Callers
 * must hold the lock of the device.
 */
final class WireRequester extends Requester implements SendWindow.Waiter {
    /** After so many bytes without an acknowledgement, one is requested. */
    private static final int ASK_BYTES = 16 << 10;

    /** How many bytes of a read are requested at once, of several requests and of a single one. */
    private static final int READ_BYTES = 32 << 10;

    private static final int ONLY_READ_BYTES = 64 << 10;

    /** A peer that has not answered so many probes does not hold a part of the window. */
    private static final int PROBES_TO_HOLD = 2;

    /** The packets per turn where no window limits them, so that other queue pairs get their turn. */
    private static final int PACKETS_PER_TURN = 64;

    /** PSNs are ordered only within half of their range. */
    private static final long MAX_PACKETS = (1 << 23) - 2L * SendWindow.MOST_BYTES / 256;

    /** In place of a PSN. */
    private static final int NONE = -1;

    /** State of a slot: the work request has been executed locally. */
    private static final int DONE = 1;

    /** State of a slot: the work request fails, with this status added. */
    private static final int FAILED = 2;

    private final SoftDevice device;
    private final SendQueue sends;
    private final ScatterGatherCursor segments;
    private SoftAddressHandle path;
    private final int mtu;

    /**
     * A long read is requested in parts of this many response packets. A repeated request then ends where the original
     * one ended, so that the peer recognizes it.
     */
    private final int readPackets;

    private final boolean reliable;

    /** PSN of the next packet. */
    private int next;

    /** PSN of the first unacknowledged packet. */
    private int oldest;

    /** The PSN after the highest one ever sent. */
    private int farthest;

    /** The first slot whose work request has no PSNs yet. */
    private int started;

    /** The offset of the next packet in the message of {@code sends.current}. */
    private long offset;

    /** The last PSNs of the outstanding responses, in a ring. */
    private final int[] asked = new int[SoftDevice.MAX_READ_ATOMIC];

    private int firstAsked;
    private int outstanding;

    private boolean pausing;

    /** How many packets of this queue pair the window of the peer contains. */
    private int counted;

    /** Whether it waits for that window, and whether it is its turn. */
    private boolean waitsForWindow;

    private boolean isOnTurn;

    /** The event of that waiting; null unless it waits and such events are recorded. */
    private WindowStall stall;

    /** How many packets may be sent before it is the turn of others. */
    private int packetsLeft;

    /** How many packets were sent since the last one that requests an acknowledgement. */
    private int unasked;

    /** The PSN of the packet whose answer is timed, and when it was sent. */
    private int timedPsn = NONE;

    private long timedSince;

    /** Answers to packets before this PSN are not timed: they may be answers to an earlier transmission. */
    private int untimed;

    private final LossProbe lossProbe;

    /** Slows this down where the way is congested; null if it does not react to that. */
    private final Pacer pacer;

    /** Whether a packet was sent again to find out about losses, and its PSN. */
    private boolean isProbing;

    private int probedPsn;

    /** Whether the last progress was an acknowledgement of no more than the packet that was sent again. */
    private boolean isProbeAnswered;

    /** The last PSN at which a part of a read was requested from its middle on: its responses may begin there. */
    private int resumedPsn = NONE;

    /** How many probes were sent since {@link #oldest} was sent the last time. */
    private int probesSinceSent;

    /** How many probes of the time before may still be answered by an RNR NAK, which spends no retry. */
    private int lateProbes;

    /** Whether packets from {@link #oldest} on have been retransmitted since it was found missing. */
    private boolean gapTold;

    WireRequester(SoftQueuePair queuePair, SoftDevice device, SoftAddressHandle path, int mtu, int firstPsn) {
        super(queuePair);
        this.device = device;
        this.path = path;
        this.mtu = mtu;
        sends = queuePair.sends;
        segments = new ScatterGatherCursor(device);
        reliable = queuePair.type == VerbsConstants.RC;
        readPackets = (queuePair.maxReadAtomic() > 1 ? READ_BYTES : ONLY_READ_BYTES) / mtu;
        lossProbe = new LossProbe(this, device.engine);
        pacer = device.settings().congestion() == null
                ? null
                : new Pacer(this, device.engine, device.settings().congestion());
        next = firstPsn;
        oldest = firstPsn;
        farthest = firstPsn;
        untimed = firstPsn;
        started = sends.tail;
        sends.current = sends.tail;
    }

    // Sending.

    @Override
    void path(SoftAddressHandle newPath) {
        count(0);
        leaveWindow();
        path = newPath;
        settle();
    }

    private SendWindow window() {
        return path.peer.window;
    }

    /** Sends as much as the window allows. */
    @Override
    void run() {
        if (!waitsForWindow || isOnTurn) {
            send();
        }
        if (isWaiting()) {
            queuePair.timer.arm();
            expectAnswer();
        }
    }

    private void expectAnswer() {
        if (device.settings().probes()) {
            lossProbe.arm(window().patience());
        }
    }

    private void send() {
        boolean contended = reliable && window().isContended();
        if (contended && !isOnTurn) {
            // Others were there before.
            if (isSending()) {
                awaitWindow();
            }
            return;
        }
        boolean wasOnTurn = isOnTurn;
        isOnTurn = false;
        packetsLeft = PACKETS_PER_TURN;
        if (reliable) {
            packetsLeft = contended ? Math.max(1, SendWindow.TURN_BYTES / mtu) : Integer.MAX_VALUE;
        }
        while (isSending() && packetsLeft > 0 && sendOne()) {
            packetsLeft--;
        }
        boolean wasRefused = waitsForWindow;
        if (packetsLeft == 0 && isSending()) {
            if (reliable) {
                awaitWindow();
            } else {
                device.engine.goOnLater(this);
            }
        }
        if (wasOnTurn && !wasRefused) {
            // Otherwise what is in flight will make room.
            window().pass();
        }
    }

    private void awaitWindow() {
        if (!waitsForWindow) {
            waitsForWindow = true;
            device.counts.add(WireCount.WINDOW_STALLS);
            stall = WindowStall.start();
            window().await(this);
        }
    }

    private void leaveWindow() {
        if (waitsForWindow) {
            endWaiting();
            window().forget(this);
        }
        if (isOnTurn) {
            isOnTurn = false;
            window().pass();
        }
    }

    private void endWaiting() {
        waitsForWindow = false;
        if (stall != null) {
            stall.done(queuePair.number, queuePair.destination(), path.peer.address);
            stall = null;
        }
    }

    @Override
    public void resume() {
        endWaiting();
        isOnTurn = true;
        device.engine.goOnAfterPackets(this);
    }

    /** Counts what is in flight towards the window of the peer. */
    private void settle() {
        if (reliable && (counted > 0 || lossProbe.unanswered() < PROBES_TO_HOLD)) {
            count(Math.max(0, Psn.compare(next, oldest)));
        }
    }

    private void count(int packets) {
        int more = packets - counted;
        counted = packets;
        if (more > 0) {
            window().sent(more * mtu);
        } else if (more < 0) {
            window().returned(-more * mtu);
        }
    }

    /** Returns whether there is something to send; while draining, only requests that have been started. */
    private boolean isSending() {
        int state = queuePair.state();
        return !pausing
                && ((state == VerbsConstants.RTS && sends.current != sends.head)
                        || (state == VerbsConstants.SQD && sends.current != started));
    }

    @Override
    boolean isDrained() {
        return sends.tail == started;
    }

    @Override
    void congested() {
        if (pacer != null) {
            pacer.notified();
        }
    }

    @Override
    void skipFlushed() {
        started = sends.tail;
        oldest = next;
        offset = 0;
    }

    @Override
    void stop() {
        // First, so that the room that becomes free does not resume this one, whose memory may be freed next.
        leaveWindow();
        count(0);
        lossProbe.forget();
        if (pacer != null) {
            pacer.forget();
        }
        device.engine.forget(this);
    }

    @Override
    boolean isWaiting() {
        return reliable && !pausing && oldest != next && queuePair.state() != VerbsConstants.ERR;
    }

    /**
     * Repeats a request of the past, for {@link KeepAlives}: an RDMA WRITE of no bytes with the PSN before the oldest one
     * that is not acknowledged. To the peer it is a duplicate, which it acknowledges and does not execute (IBA
     * specification, section 9.7.5.1.4). So a probe needs no place in the send queue, and its loss does no harm.
     */
    @Override
    void probe() {
        if (!reliable) {
            return;
        }
        long packet = device.wire().begin(path.peer, path.sourceIndex, path.socket);
        if (packet == 0) {
            return;
        }
        int code = Opcode.RC_RDMA_WRITE_ONLY;
        Bth.write(packet, code, false, 0, Bth.DEFAULT_PKEY, queuePair.destination(), true, Psn.add(oldest, -1));
        Reth.write(packet + Reth.OFFSET, 0, 0, 0);
        device.wire().send(Opcode.headerBytes(code));
    }

    private int opcodeOf(long slot) {
        return Memory.getInt(slot + SendQueue.OPCODE);
    }

    private static long bytesOf(long slot) {
        return Integer.toUnsignedLong(Memory.getInt(slot + SendQueue.BYTES));
    }

    /** Sends one packet, or executes a request that needs none. Returns false if it must wait. */
    private boolean sendOne() {
        long slot = sends.slot(sends.current);
        int opcode = opcodeOf(slot);
        if (sends.current == started && !start(slot, opcode)) {
            return false;
        }
        int state = Memory.getInt(slot + SendQueue.STATE);
        if (state != 0) {
            if (state >= FAILED && sends.current != sends.tail) {
                // Later requests must not be executed, and earlier ones are still incomplete.
                return false;
            }
            sends.current++;
            retire();
            return true;
        }
        if (SendQueue.isAnswered(opcode)) {
            return ask(slot, opcode);
        }
        if (pacer != null && pacer.mustWait()) {
            return false;
        }
        return isAdmitted(1) && sendPart(slot, opcode, false);
    }

    /** Returns whether the window admits some more packets; if it does not, waits for it. */
    private boolean isAdmitted(int packets) {
        if (!reliable) {
            return true;
        }
        if (Psn.compare(next, oldest) + packets > SendWindow.MOST_BYTES / mtu) {
            // The answers to its own packets make room.
            return false;
        }
        boolean admitted = window().admits(packets * mtu);
        if (!admitted) {
            awaitWindow();
        }
        return admitted;
    }

    /** Assigns PSNs to a work request. Returns false if it must wait. */
    private boolean start(long slot, int opcode) {
        if ((Memory.getInt(slot + SendQueue.FLAGS) & VerbsConstants.FLAG_FENCE) != 0 && outstanding > 0) {
            return false;
        }
        int state = SendQueue.isAnswered(opcode) && queuePair.maxReadAtomic() == 0
                ? VerbsConstants.LOC_QP_OP_ERR
                : queuePair.work.execute(slot, opcode, reliable);
        int packets = 0;
        if (state == LocalWork.TO_PEER) {
            int count = SendQueue.isAtomic(opcode) ? 1 : Psn.count(bytesOf(slot), mtu);
            state = count > MAX_PACKETS ? FAILED + VerbsConstants.LOC_LEN_ERR : 0;
            packets = state == 0 ? count : 0;
        } else {
            state = state == VerbsConstants.SUCCESS ? DONE : FAILED + state;
        }
        Memory.putInt(slot + SendQueue.STATE, state);
        Memory.putInt(slot + SendQueue.FIRST_PSN, next);
        Memory.putInt(slot + SendQueue.LAST_PSN, Psn.add(next, packets - 1));
        offset = 0;
        started++;
        return true;
    }

    /**
     * Sends a packet of a send or a write, which may have to ask for an acknowledgement. Returns false if there is no room
     * now.
     */
    private boolean sendPart(long slot, int opcode, boolean asks) {
        long packet = device.engine.begin(this, path);
        if (packet == 0) {
            return false;
        }
        long bytes = bytesOf(slot);
        int part = (int) Math.min(device.wire().payload(mtu), bytes - offset);
        int packets = Psn.count(part, mtu);
        boolean first = offset == 0;
        boolean last = offset + part == bytes;
        int code = PacketOpcodes.of(opcode, first, last) + (reliable ? 0 : Opcode.UC_SEND_FIRST);
        int flags = Memory.getInt(slot + SendQueue.FLAGS);
        int pad = -part & 3;
        boolean pauses = pacer != null && pacer.sent(part);
        // Also before a pause: others may need what waits for the acknowledgement.
        boolean asking = reliable
                && (asks
                        || last
                        || pauses
                        || packetsLeft == 1
                        || (unasked + packets) * mtu >= ASK_BYTES
                        || !window().admits(2 * mtu));
        unasked = asking ? 0 : unasked + packets;
        if (asking) {
            time();
        }
        Bth.write(
                packet,
                code,
                last && (flags & VerbsConstants.FLAG_SOLICITED) != 0,
                pad,
                Bth.DEFAULT_PKEY,
                queuePair.destination(),
                asking,
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
        if (!queuePair.work.copyPart(slot, offset, payload, part, segments)) {
            Memory.putInt(slot + SendQueue.STATE, FAILED + VerbsConstants.LOC_PROT_ERR);
            return true;
        }
        Memory.zero(payload + part, pad);
        int repeated = Math.min(packets, Psn.compare(farthest, next));
        if (repeated > 0) {
            device.counts.add(WireCount.REPEATED_PACKETS, repeated);
        }
        device.wire().send(Opcode.headerBytes(code) + part + pad);
        if (asks) {
            // A repetition takes no PSN. In shared memory, it may contain more than was sent before.
            reach(Psn.add(next, packets));
            return true;
        }
        advance(packets);
        offset += part;
        if (last) {
            endOfMessage();
        }
        return true;
    }

    /** Times the answer to the next packet, unless an earlier transmission may be answered or another packet is timed. */
    private void time() {
        if (timedPsn == NONE && Psn.compare(next, untimed) >= 0) {
            timedPsn = next;
            timedSince = System.nanoTime();
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
        reach(next);
        settle();
    }

    private void reach(int psn) {
        if (Psn.compare(psn, farthest) > 0) {
            farthest = psn;
        }
    }

    /** Returns how much of a read is requested at once, from an offset on, in bytes; 0 for an atomic. */
    private int partToRead(long slot, int opcode, long from) {
        if (SendQueue.isAtomic(opcode)) {
            return 0;
        }
        long sent = from / mtu;
        return (int) Math.min(bytesOf(slot) - from, (readPackets - sent % readPackets) * mtu);
    }

    /** Requests a part of a read, or an atomic. Returns false if too many are outstanding. */
    private boolean ask(long slot, int opcode) {
        if (outstanding >= queuePair.maxReadAtomic()) {
            return false;
        }
        int part = partToRead(slot, opcode, offset);
        int packets = Psn.count(part, mtu);
        if (!isAdmitted(packets) || !request(slot, opcode, part)) {
            return false;
        }
        offset += part;
        advance(packets);
        asked[(firstAsked + outstanding++) % asked.length] = Psn.add(next, -1);
        if (SendQueue.isAtomic(opcode) || offset == bytesOf(slot)) {
            endOfMessage();
        }
        return true;
    }

    /** Sends the request of an atomic, or of a part of a read. Returns false if there is no room now. */
    private boolean request(long slot, int opcode, int part) {
        long packet = device.engine.begin(this, path);
        if (packet == 0) {
            return false;
        }
        int code = PacketOpcodes.of(opcode, true, true);
        Bth.write(packet, code, false, 0, Bth.DEFAULT_PKEY, queuePair.destination(), true, next);
        long remote = Memory.getLong(slot + SendQueue.REMOTE);
        int rkey = Memory.getInt(slot + SendQueue.RKEY);
        if (SendQueue.isAtomic(opcode)) {
            long compareAdd = Memory.getLong(slot + SendQueue.COMPARE_ADD);
            boolean add = opcode == VerbsConstants.WR_FETCH_ADD;
            AtomicEth.write(
                    packet + AtomicEth.OFFSET,
                    remote,
                    rkey,
                    add ? compareAdd : Memory.getLong(slot + SendQueue.SWAP),
                    add ? 0 : compareAdd);
        } else {
            Reth.write(packet + Reth.OFFSET, remote + offset, rkey, part);
            if (offset / mtu % readPackets != 0) {
                resumedPsn = next;
            }
        }
        time();
        device.wire().send(Opcode.headerBytes(code));
        unasked = 0;
        return true;
    }

    // Acknowledgements and responses.

    @Override
    boolean isExpected(int psn) {
        return Psn.compare(psn, oldest) >= 0 && Psn.compare(psn, farthest) < 0;
    }

    @Override
    void receive(long packet, int opcode, int payloadBytes) {
        int psn = Bth.psn(packet);
        if (!isExpected(psn)) {
            return;
        }
        if (Opcode.isReadResponse(opcode)) {
            response(psn, packet, opcode, payloadBytes);
        } else if (opcode == Opcode.RC_ATOMIC_ACKNOWLEDGE) {
            atomicResponse(psn, packet);
        } else if (opcode == Opcode.RC_ACKNOWLEDGE) {
            acknowledged(psn, Aeth.syndrome(packet + Aeth.OFFSET));
        }
        run();
    }

    private void acknowledged(int psn, int syndrome) {
        if (Aeth.isAck(syndrome)) {
            boolean isOfProbe = isProbing && psn == probedPsn;
            coverUpTo(Psn.next(psn));
            if (isOfProbe && isWaiting()) {
                // Either the peer got the probe and nothing of what was sent before it, or it was only late and goes
                // on.
                isProbeAnswered = true;
                lossProbe.armForNext();
            }
            return;
        }
        if (!coverUpTo(psn)) {
            return;
        }
        if (Aeth.isRnrNak(syndrome)) {
            device.counts.add(WireCount.RECEIVED_RNR_NAKS);
            queuePair.awaitsReceive(oldest);
            notReady(Aeth.rnrNanos(Aeth.code(syndrome)));
            return;
        }
        if (Aeth.code(syndrome) == Aeth.PSN_SEQUENCE_ERROR) {
            device.counts.add(WireCount.RECEIVED_SEQUENCE_NAKS);
            if (!pausing) {
                rewindToMissing();
            }
            return;
        }
        device.counts.add(WireCount.RECEIVED_ERROR_NAKS);
        if (sends.tail != started) {
            queuePair.failFirst(statusOf(Aeth.code(syndrome)));
        }
    }

    /**
     * Waits until the peer may have posted a receive. The peer answers each probe with an RNR NAK as well: together with that
     * for the packet itself, they spend one retry.
     */
    private void notReady(long nanos) {
        rewind();
        boolean isLate = lateProbes > 0;
        if (isLate) {
            lateProbes--;
        }
        if (pausing || !(isLate || queuePair.timer.mayRetryWhenReady())) {
            return;
        }
        if (!isLate) {
            lateProbes = probesSinceSent;
        }
        probesSinceSent = 0;
        pausing = true;
        queuePair.timer.pause(nanos);
        RnrWait.tell(queuePair.number, queuePair.destination(), path.peer.address, nanos);
    }

    private static int statusOf(int nak) {
        return switch (nak) {
            case Aeth.INVALID_REQUEST -> VerbsConstants.REM_INV_REQ_ERR;
            case Aeth.REMOTE_ACCESS_ERROR -> VerbsConstants.REM_ACCESS_ERR;
            case Aeth.INVALID_RD_REQUEST -> VerbsConstants.REM_INV_RD_REQ_ERR;
            default -> VerbsConstants.REM_OP_ERR;
        };
    }

    /**
     * Handles an acknowledgement of all packets before a PSN. Returns false if responses to some of them are missing,
     * which are requested again, once, or if the queue pair fails.
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
            if (SendQueue.isAnswered(opcodeOf(slot))) {
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
        return complete && queuePair.state() != VerbsConstants.ERR;
    }

    /** Marks packets as acknowledged: restarts the timer, and completes what is complete. */
    private void progress() {
        queuePair.timer.resetRetries();
        // The peer that was not ready has accepted the packet after all.
        pausing = false;
        gapTold = false;
        isProbing = false;
        isProbeAnswered = false;
        probesSinceSent = 0;
        lateProbes = 0;
        if (Psn.compare(untimed, oldest) < 0) {
            // It must not fall behind by half the range of PSNs.
            untimed = oldest;
        }
        boolean isTimed = timedPsn != NONE && Psn.compare(timedPsn, oldest) < 0;
        if (isTimed) {
            timedPsn = NONE;
            window().answered(System.nanoTime() - timedSince);
        }
        while (outstanding > 0 && Psn.compare(asked[firstAsked], oldest) < 0) {
            firstAsked = (firstAsked + 1) % asked.length;
            outstanding--;
        }
        if (Psn.compare(oldest, next) > 0) {
            seek(oldest);
        }
        arrived();
        retire();
        queuePair.timer.restart(isWaiting());
        lossProbe.answered(isTimed);
    }

    /** Takes what arrived out of the window of the peer. */
    private void arrived() {
        int inFlight = Math.max(0, Psn.compare(next, oldest));
        if (counted > inFlight) {
            int packets = counted - inFlight;
            counted = inFlight;
            window().acknowledged(packets * mtu);
        }
    }

    private void response(int psn, long packet, int opcode, int bytes) {
        long slot = answeredBy(psn);
        if (slot == 0) {
            return;
        }
        if (opcodeOf(slot) != VerbsConstants.WR_READ || !isAck(packet, opcode)) {
            queuePair.failFirst(VerbsConstants.BAD_RESP_ERR);
            return;
        }
        long at = (long) Psn.compare(psn, Memory.getInt(slot + SendQueue.FIRST_PSN)) * mtu;
        int rest = partToRead(slot, VerbsConstants.WR_READ, at);
        int packets = Psn.count(bytes, mtu);
        boolean isInOrder = isStartPossible(opcode, psn, at) && Opcode.isEnd(opcode) == (bytes == rest);
        if (!isInOrder || !fits(bytes, rest) || Psn.compare(Psn.add(psn, packets), farthest) > 0) {
            queuePair.failFirst(VerbsConstants.BAD_RESP_ERR);
            return;
        }
        if (!queuePair.work.takePart(slot, at, packet + Opcode.headerBytes(opcode), bytes, segments)) {
            queuePair.failFirst(VerbsConstants.LOC_PROT_ERR);
            return;
        }
        oldest = Psn.add(psn, packets);
        progress();
    }

    /** Returns the slot of the work request that a response is the next one for, or 0. */
    private long answeredBy(int psn) {
        return coverUpTo(psn) && sends.tail != started && psn == oldest ? sends.slot(sends.tail) : 0;
    }

    /** Returns whether a response says that the request was executed, if it has a header for that. */
    private static boolean isAck(long packet, int opcode) {
        return !Opcode.hasAeth(opcode) || Aeth.isAck(Aeth.syndrome(packet + Aeth.OFFSET));
    }

    /**
     * Returns whether the responses to one request may begin, or go on, with this packet. Those to a request that is repeated
     * from its middle on may do either (Soft-RoCE goes on).
     */
    private boolean isStartPossible(int opcode, int psn, long at) {
        boolean begins = at / mtu % readPackets == 0;
        return Opcode.isStart(opcode) ? begins || psn == resumedPsn : !begins;
    }

    /** Returns whether a response packet may have so many bytes where so many are left. */
    private boolean fits(int bytes, int rest) {
        boolean several = device.wire().isOfSeveral() && bytes > 0 && (bytes == rest || bytes % mtu == 0);
        return bytes == Math.min(mtu, rest) || (several && bytes <= rest);
    }

    private void atomicResponse(int psn, long packet) {
        long slot = answeredBy(psn);
        if (slot == 0) {
            return;
        }
        if (!SendQueue.isAtomic(opcodeOf(slot)) || !isAck(packet, Opcode.RC_ATOMIC_ACKNOWLEDGE)) {
            queuePair.failFirst(VerbsConstants.BAD_RESP_ERR);
            return;
        }
        device.scratch(AtomicAckEth.original(packet + AtomicAckEth.OFFSET));
        if (!queuePair.work.takePart(slot, 0, device.scratch(), Long.BYTES, segments)) {
            queuePair.failFirst(VerbsConstants.LOC_PROT_ERR);
            return;
        }
        oldest = Psn.next(psn);
        progress();
    }

    /** Completes the work requests that are fully acknowledged. */
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
                // An earlier transmission was acknowledged before the retransmission.
                sends.current++;
                offset = 0;
            }
            queuePair.completeFirst();
        }
    }

    // Retransmission.

    /** Retransmits, unless that has been done for this gap: then its answers, or the timer, decide. */
    private void rewindOnce() {
        if (!gapTold) {
            gapTold = true;
            window().lost();
            tellRetransmission(Retransmission.GAP);
            rewind();
        }
    }

    /** Called before it goes back to the oldest packet. */
    private void tellRetransmission(String cause) {
        int packets = Math.max(0, Psn.compare(next, oldest));
        Retransmission.tell(queuePair.number, queuePair.destination(), path.peer.address, cause, oldest, packets);
    }

    /**
     * Retransmits what the peer has said to be missing. It has answered none of that, so the answers to come are timed. Where
     * so much gets lost that nothing but retransmissions is answered, probes would else become ever rarer.
     */
    private void rewindToMissing() {
        if (!gapTold) {
            rewindOnce();
            untimed = oldest;
        }
    }

    @Override
    void repeat() {
        rewind();
    }

    /** Continues from the first unacknowledged packet. */
    private void rewind() {
        outstanding = 0;
        timedPsn = NONE;
        untimed = farthest;
        isProbing = false;
        isProbeAnswered = false;
        // What is sent now is not overdue yet: sending arms it anew.
        lossProbe.stop();
        seek(oldest);
        count(0);
    }

    /**
     * Called when an answer is overdue: sends the first unacknowledged packet again, and asks for an acknowledgement; or all
     * of them, if the last answer was to such a packet and nothing has come since.
     */
    void answerOverdue() {
        if (!isWaiting() || path.peer == null) {
            return;
        }
        device.wire().overdue(path.peer, path.sourceIndex);
        if (isProbeAnswered) {
            // No probe: the peer has just answered one, so what is sent again counts towards its window.
            rewindToMissing();
            run();
            return;
        }
        lossProbe.probed();
        if (lossProbe.unanswered() >= PROBES_TO_HOLD) {
            count(0);
        }
        Retransmission.tell(
                queuePair.number, queuePair.destination(), path.peer.address, Retransmission.PROBE, oldest, 1);
        sendAgain();
        expectAnswer();
    }

    private void sendAgain() {
        int before = next;
        int place = sends.current;
        long at = offset;
        // Its answer may be that of the repetition.
        timedPsn = NONE;
        untimed = farthest;
        seek(oldest);
        long slot = sends.slot(sends.current);
        int opcode = opcodeOf(slot);
        if (SendQueue.isAnswered(opcode)) {
            request(slot, opcode, partToRead(slot, opcode, offset));
        } else {
            isProbing = sendPart(slot, opcode, true);
            probedPsn = oldest;
            if (isProbing) {
                probesSinceSent++;
            }
        }
        next = before;
        sends.current = place;
        offset = at;
        if (Memory.getInt(slot + SendQueue.STATE) >= FAILED) {
            // For example because the memory has been deregistered.
            retire();
        }
    }

    /** Continues from a given packet. */
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
        } else if (!queuePair.timer.mayRetry()) {
            return;
        } else {
            device.counts.add(WireCount.TIMEOUTS);
            gapTold = false;
            window().lost();
            tellRetransmission(Retransmission.TIMEOUT);
            rewind();
        }
        run();
    }
}
