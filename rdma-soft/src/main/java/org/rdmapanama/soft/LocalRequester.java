package org.rdmapanama.soft;

import org.rdmapanama.soft.events.RnrWait;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.WireCount;

/**
 * The sending half of an RC or UC queue pair whose peer is on the same device: executes work requests directly, with
 * one copy. Long messages are copied in parts, so that other threads get the lock in between.
 *
 * <p>{@link SoftQueuePair} runs it when work is posted, on the posting thread; {@link ProgressEngine} continues long copies and
 * retries. Callers must hold the lock of the device.
 */
final class LocalRequester extends Requester {
    /**
     * Bytes to copy per turn: bounds the time that the lock of the device is held to less than a tenth of a
     * millisecond.
     */
    static final long BYTES_PER_TURN = 1 << 20;

    /** Messages up to this size are copied at once, so that a number in memory is never half written. */
    private static final long WHOLE = 4096;

    /** In place of a status: this part is done, and more parts follow. */
    private static final int MORE = -4;

    private final SoftDevice device;
    private final SendQueue sends;
    private final WorkRequestPayload data;

    /** Whether the first work request has been started, and must be retried or continued. */
    private boolean begun;

    /** How many bytes of the first work request have been copied. */
    private long done;

    /** How many bytes may still be copied in this turn. */
    private long left;

    LocalRequester(SoftQueuePair queuePair, SoftDevice device) {
        super(queuePair);
        this.device = device;
        sends = queuePair.sends;
        data = new WorkRequestPayload(queuePair.work, new ScatterGatherCursor(device));
    }

    @Override
    void run() {
        left = BYTES_PER_TURN;
        while (isSending() && left > 0) {
            step();
        }
        if (isSending()) {
            device.engine.goOnLater(this);
        }
    }

    private boolean isSending() {
        int state = queuePair.state();
        return (state == VerbsConstants.RTS || (state == VerbsConstants.SQD && begun))
                && !queuePair.timer.isPausing()
                && sends.tail != sends.head;
    }

    @Override
    boolean isDrained() {
        return !begun;
    }

    @Override
    void stop() {
        done = 0;
        device.engine.forget(this);
    }

    /** Executes the first work request, or a part of it. */
    private void step() {
        long slot = sends.slot(sends.tail);
        long rest = SendQueue.bytes(slot) - done;
        long part = rest <= WHOLE ? rest : Math.min(rest, left);
        int status = execute(slot, Memory.getInt(slot + SendQueue.OPCODE), part);
        begun = status == Responder.NOT_READY || status == Responder.SILENT || status == MORE;
        // A retry starts from the beginning.
        done = status == MORE ? done + part : 0;
        left -= part;
        if (status == MORE) {
            return;
        }
        if (status == VerbsConstants.SUCCESS) {
            queuePair.timer.resetRetries();
            queuePair.completeFirst();
        } else if (status == Responder.NOT_READY) {
            tryAgainWhenReady();
        } else if (status == Responder.SILENT) {
            tryAgain();
        } else {
            queuePair.failFirst(status);
        }
    }

    private void tryAgain() {
        if (!queuePair.timer.isEnabled()) {
            // Without a timer the message is lost, as it would be on a wire.
            queuePair.timer.pauseForEver();
        } else if (queuePair.timer.mayRetry()) {
            queuePair.timer.arm();
        }
    }

    private void tryAgainWhenReady() {
        SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
        device.counts.add(WireCount.LOCAL_NOT_READY);
        queuePair.awaitsReceive(sends.tail);
        if (peer != null) {
            peer.lacksReceive(sends.tail);
        }
        if (queuePair.timer.mayRetryWhenReady()) {
            long nanos = Aeth.rnrNanos(peer == null ? 0 : peer.minRnrTimer());
            queuePair.timer.pause(nanos);
            RnrWait.tell(queuePair.number, queuePair.destination(), null, nanos);
        }
    }

    /** Returns the status of a work request, {@link #MORE}, or one of the constants of {@link Responder}. */
    private int execute(long slot, int opcode, long part) {
        int here = queuePair.work.check(slot, opcode);
        if (here != LocalWork.TO_PEER) {
            return here;
        }
        if (SendQueue.isAnswered(opcode) && queuePair.maxReadAtomic() == 0) {
            return VerbsConstants.LOC_QP_OP_ERR;
        }
        int status = toPeer(slot, opcode, part);
        if (queuePair.type == VerbsConstants.UC && (status == Responder.NOT_READY || status == Responder.SILENT)) {
            if (status == Responder.NOT_READY) {
                device.counts.add(WireCount.DROPPED_NO_RECEIVE);
            }
            return VerbsConstants.SUCCESS;
        }
        if (status == VerbsConstants.SUCCESS) {
            device.counts.addLocalMessage(SendQueue.bytes(slot));
        }
        return status;
    }

    private int toPeer(long slot, int opcode, long part) {
        SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
        WireCount reason = reasonToDrop(peer);
        if (reason != null) {
            return lost(reason);
        }
        peer.tellEstablished();
        if (opcode == VerbsConstants.WR_SEND
                || opcode == VerbsConstants.WR_SEND_IMM
                || (opcode == VerbsConstants.WR_SEND_INV && queuePair.type == VerbsConstants.RC)) {
            return send(peer, slot, opcode, part);
        }
        if (opcode == VerbsConstants.WR_WRITE || opcode == VerbsConstants.WR_WRITE_IMM) {
            return write(peer, slot, opcode, part);
        }
        if (queuePair.type == VerbsConstants.RC && opcode == VerbsConstants.WR_READ) {
            return read(peer, slot, part);
        }
        if (queuePair.type == VerbsConstants.RC && SendQueue.isAtomic(opcode)) {
            return atomic(peer, slot, opcode);
        }
        return VerbsConstants.LOC_QP_OP_ERR;
    }

    /** Returns how a message counts that the peer does not receive, or null. */
    private WireCount reasonToDrop(SoftQueuePair peer) {
        if (peer == null || peer.type != queuePair.type) {
            return WireCount.DROPPED_NO_QUEUE_PAIR;
        }
        if (!peer.canReceive()) {
            return WireCount.DROPPED_STATE;
        }
        return peer.destination() == queuePair.number && peer.hasPeerHere() ? null : WireCount.DROPPED_STRANGER;
    }

    /** Counts a message that nothing sends again. Reliable ones are tried again. */
    private int lost(WireCount reason) {
        if (queuePair.type != VerbsConstants.RC) {
            device.counts.add(reason);
        }
        return Responder.SILENT;
    }

    private int send(SoftQueuePair peer, long slot, int opcode, long part) {
        long bytes = SendQueue.bytes(slot);
        if (done > 0 && !peer.responder.hasReceive()) {
            // The peer was reset and set up anew: earlier parts are lost.
            return lost(WireCount.DROPPED_STATE);
        }
        int status = peer.responder.send(data.at(slot, done), done, part, bytes);
        if (status > VerbsConstants.SUCCESS) {
            return failReceive(peer, status);
        }
        if (status < VerbsConstants.SUCCESS) {
            return status;
        }
        if (done + part < bytes) {
            return MORE;
        }
        int flags = 0;
        int immediate = 0;
        if (opcode != VerbsConstants.WR_SEND) {
            flags = opcode == VerbsConstants.WR_SEND_IMM ? VerbsConstants.WC_FLAG_IMM : VerbsConstants.WC_FLAG_INV;
            immediate = Memory.getInt(slot + SendQueue.IMMEDIATE);
        }
        boolean ended = peer.responder.endSend(bytes, flags, immediate, queuePair.number, SendQueue.isSolicited(slot));
        return ended ? VerbsConstants.SUCCESS : failReceive(peer, VerbsConstants.REM_INV_REQ_ERR);
    }

    private int write(SoftQueuePair peer, long slot, int opcode, long part) {
        long bytes = SendQueue.bytes(slot);
        boolean withImmediate = opcode == VerbsConstants.WR_WRITE_IMM;
        int status = peer.responder.write(
                data.at(slot, done),
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                done,
                part,
                withImmediate);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(peer, status);
        }
        if (done + part < bytes) {
            return MORE;
        }
        if (withImmediate) {
            int immediate = Memory.getInt(slot + SendQueue.IMMEDIATE);
            peer.responder.endWrite(bytes, immediate, queuePair.number, SendQueue.isSolicited(slot));
        }
        return VerbsConstants.SUCCESS;
    }

    private int read(SoftQueuePair peer, long slot, long part) {
        long bytes = SendQueue.bytes(slot);
        int status = peer.responder.read(
                data.at(slot, done),
                Memory.getInt(slot + SendQueue.RKEY),
                Memory.getLong(slot + SendQueue.REMOTE),
                bytes,
                done,
                part);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(peer, status);
        }
        return done + part < bytes ? MORE : VerbsConstants.SUCCESS;
    }

    private int atomic(SoftQueuePair peer, long slot, int opcode) {
        int rkey = Memory.getInt(slot + SendQueue.RKEY);
        long address = Memory.getLong(slot + SendQueue.REMOTE);
        int status = peer.responder.checkAtomic(rkey, address);
        if (status != VerbsConstants.SUCCESS) {
            return refuse(peer, status);
        }
        boolean adds = opcode == VerbsConstants.WR_FETCH_ADD;
        long compareAdd = Memory.getLong(slot + SendQueue.COMPARE_ADD);
        long swapOrAdd = adds ? compareAdd : Memory.getLong(slot + SendQueue.SWAP);
        device.scratch(peer.responder.atomic(rkey, address, adds, swapOrAdd, compareAdd));
        data.at(slot, 0).copyFrom(device.scratch(), Long.BYTES);
        return VerbsConstants.SUCCESS;
    }

    // What a packet would tell by a NAK.

    /** Fails the receive in use and the peer; an unreliable one only loses the message. */
    private int failReceive(SoftQueuePair peer, int status) {
        if (peer.type != VerbsConstants.RC) {
            // The receive is kept for the next message.
            return lost(WireCount.DROPPED_TOO_LONG);
        }
        peer.responder.failReceive(status);
        peer.fail();
        return VerbsConstants.REM_OP_ERR;
    }

    /** Returns the status of a request that the peer does not execute, which ends a reliable connection if it is not permitted. */
    private static int refuse(SoftQueuePair peer, int status) {
        if (status < VerbsConstants.SUCCESS) {
            return status;
        }
        if (peer.type != VerbsConstants.RC) {
            return Responder.SILENT;
        }
        peer.fail(Responder.eventOf(status));
        return status;
    }
}
