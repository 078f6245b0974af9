package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.AtomicAckEth;
import org.rdmapanama.soft.wire.AtomicEth;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.Opcode;
import org.rdmapanama.soft.wire.Psn;
import org.rdmapanama.soft.wire.Reth;

/**
 * Answers the reads and atomics of a peer on another device, in order, and again where an answer got lost (IBA
 * specification, section 9.7.5.1). Reading and changing memory waits until the answer is due: an atomic must not change what
 * an earlier read has not read yet (section 10.8.3.3). {@link WireResponder} owns it, and passes it requests that it has
 * checked. Callers must hold the lock of the device.
 */
final class ReadResponder {
    /** Packets per turn, so that other queue pairs get their turn. */
    private static final int PACKETS_PER_TURN = 32;

    private final WireResponder owner;
    private final SoftDevice device;
    private final Responder responder;
    private final int mtu;

    /** Requests that wait for their answer, in order. */
    private final ResponderResources pending = new ResponderResources(SoftDevice.MAX_READ_ATOMIC);

    /** How many bytes of the first one have been sent. */
    private long done;

    /** The most recently answered ones, in case an answer gets lost. */
    private final ResponderResources answered = new ResponderResources(SoftDevice.MAX_READ_ATOMIC);

    ReadResponder(WireResponder owner, SoftDevice device, int mtu) {
        this.owner = owner;
        this.device = device;
        this.mtu = mtu;
        responder = owner.queuePair.responder;
    }

    // Requests.

    /** Returns whether there is no room for another request. */
    boolean isFull() {
        return pending.isFull();
    }

    /** Returns whether the peer may not ask for more before it has an answer. */
    boolean areTooMany() {
        return pending.fresh() >= owner.queuePair.maxDestinationReadAtomic();
    }

    /** Returns whether no request waits for its answer. */
    boolean areAnswered() {
        return pending.count() == 0;
    }

    /** Takes a read; there must be room. */
    void read(int psn, long address, long bytes, int rkey) {
        pending.add(psn, Psn.count(bytes, mtu), address, bytes, rkey);
    }

    /** Takes an atomic, of which the extended header is given; there must be room. */
    void atomic(int psn, int opcode, long eth) {
        long operation = opcode == Opcode.RC_FETCH_ADD ? ResponderResources.ADD : ResponderResources.SWAP;
        pending.addAtomic(
                psn,
                operation,
                AtomicEth.remoteAddress(eth),
                AtomicEth.rkey(eth),
                AtomicEth.swapOrAdd(eth),
                AtomicEth.compare(eth));
    }

    /** Takes a request that came before, if it is known. Returns whether there is something to send for it. */
    boolean again(long packet, int opcode) {
        int psn = Bth.psn(packet);
        if (opcode == Opcode.RC_RDMA_READ_REQUEST) {
            int place = pending.find(psn);
            return place >= 0 ? continueFrom(psn, place) : readAgain(packet, psn);
        }
        int place = answered.find(psn);
        if (place < 0 || answered.bytes(place) != ResponderResources.EXECUTED || pending.isFull()) {
            return false;
        }
        insert(psn, 1, answered.address(place), ResponderResources.EXECUTED, 0);
        return true;
    }

    /** Handles a repetition of a read whose answer has not been sent yet, or only in part. */
    private boolean continueFrom(int psn, int place) {
        if (place != pending.first()) {
            return false;
        }
        done = Math.min(done, (long) Psn.compare(psn, pending.psn(place)) * mtu);
        return true;
    }

    private boolean readAgain(long packet, int psn) {
        int place = answered.find(psn);
        if (place < 0 || answered.bytes(place) == ResponderResources.EXECUTED || pending.isFull()) {
            return false;
        }
        long skipped = (long) Psn.compare(psn, answered.psn(place)) * mtu;
        long address = Reth.remoteAddress(packet + Reth.OFFSET);
        long bytes = Integer.toUnsignedLong(Reth.length(packet + Reth.OFFSET));
        // No more than the original request was granted.
        if (Reth.rkey(packet + Reth.OFFSET) != answered.key(place)
                || address != answered.address(place) + skipped
                || bytes > answered.bytes(place) - skipped) {
            return false;
        }
        insert(psn, Psn.count(bytes, mtu), address, bytes, answered.key(place));
        return true;
    }

    /** Queues a repeated request before later ones; an answer in progress starts again. */
    private void insert(int psn, int packets, long address, long bytes, int key) {
        if (pending.insert(psn, packets, address, bytes, key)) {
            done = 0;
        }
    }

    /** Drops the requests that wait. */
    void clear() {
        pending.clear();
    }

    // Answers.

    /** Sends answers, up to the limit per turn. Returns whether all have been sent. */
    boolean respond() {
        for (int i = 0; i < PACKETS_PER_TURN && pending.count() > 0; i++) {
            if (!respondOnce()) {
                return false;
            }
        }
        if (pending.count() > 0) {
            device.engine.goOnLater(owner);
            return false;
        }
        return true;
    }

    /** Sends the next packet. Returns false if there is no room now. */
    private boolean respondOnce() {
        int at = pending.first();
        if (pending.bytes(at) < 0) {
            return respondToAtomic(at);
        }
        long packet = device.engine.begin(owner, owner.path());
        if (packet == 0) {
            return false;
        }
        long bytes = pending.bytes(at);
        int part = (int) Math.min(device.wire().payload(mtu), bytes - done);
        boolean first = done == 0;
        boolean last = done + part == bytes;
        int psn = Psn.add(pending.psn(at), (int) (done / mtu));
        int opcode = code(first, last);
        long payload = packet + Opcode.headerBytes(opcode);
        // The region may have been deregistered since.
        int status = responder.read(
                responder.packet.at(payload), pending.key(at), pending.address(at), pending.bytes(at), done, part);
        if (status != VerbsConstants.SUCCESS) {
            if (pending.isAgain(at)) {
                // The requester may well have the response already.
                end();
            } else {
                owner.refuseLate(psn);
            }
            return true;
        }
        int pad = -part & 3;
        owner.begin(packet, opcode, pad, psn);
        if (Opcode.hasAeth(opcode)) {
            Aeth.write(packet + Aeth.OFFSET, Aeth.ACK, owner.messages());
        }
        Memory.zero(payload + part, pad);
        device.wire().send(Opcode.headerBytes(opcode) + part + pad);
        done += part;
        if (last) {
            end();
        }
        return true;
    }

    private static int code(boolean first, boolean last) {
        if (first) {
            return last ? Opcode.RC_RDMA_READ_RESPONSE_ONLY : Opcode.RC_RDMA_READ_RESPONSE_FIRST;
        }
        return last ? Opcode.RC_RDMA_READ_RESPONSE_LAST : Opcode.RC_RDMA_READ_RESPONSE_MIDDLE;
    }

    /** Executes and answers an atomic. Returns false if there is no room for the answer now. */
    private boolean respondToAtomic(int at) {
        if (pending.bytes(at) != ResponderResources.EXECUTED) {
            int rkey = pending.key(at);
            long address = pending.address(at);
            if (responder.checkAtomic(rkey, address) != VerbsConstants.SUCCESS) {
                owner.refuseLate(pending.psn(at));
                return true;
            }
            boolean adds = pending.bytes(at) == ResponderResources.ADD;
            long before = responder.atomic(rkey, address, adds, pending.swapOrAdd(at), pending.compare(at));
            pending.executed(at, before);
        }
        boolean sent = answerAtomic(pending.psn(at), pending.address(at));
        if (sent) {
            end();
        }
        return sent;
    }

    private boolean answerAtomic(int psn, long before) {
        long packet = device.engine.begin(owner, owner.path());
        if (packet == 0) {
            return false;
        }
        owner.answered(psn);
        owner.begin(packet, Opcode.RC_ATOMIC_ACKNOWLEDGE, 0, psn);
        Aeth.write(packet + Aeth.OFFSET, Aeth.ACK, owner.messages());
        AtomicAckEth.write(packet + AtomicAckEth.OFFSET, before);
        device.wire().send(Opcode.headerBytes(Opcode.RC_ATOMIC_ACKNOWLEDGE));
        return true;
    }

    /** Ends the answer to the first pending request. */
    private void end() {
        int at = pending.first();
        if (!pending.isAgain(at)) {
            answered.addLatest(
                    pending.psn(at), pending.packets(at), pending.address(at), pending.bytes(at), pending.key(at));
        }
        pending.removeFirst();
        done = 0;
    }
}
