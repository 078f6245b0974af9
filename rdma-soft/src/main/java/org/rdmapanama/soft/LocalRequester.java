package org.rdmapanama.soft;

import org.rdmapanama.soft.wire.Aeth;
import org.rdmapanama.soft.wire.Memory;

/**
 * The sending half of a queue pair whose peer is one of this device: does what is posted at once, by one copy. What is
 * long is copied in parts, and between them others have their turn.
 */
final class LocalRequester extends Requester {
    /** What one turn copies: the device's lock is held that long, less than a tenth of a millisecond. */
    static final long BYTES_PER_TURN = 1 << 20;

    /** So much is not divided, so that a number in memory never is there by half. */
    private static final long WHOLE = 4096;

    private final SoftDevice device;
    private final SendQueue sends;
    private final Segments segments;

    /** Whether the first work request was tried, and is to be tried again or to go on. */
    private boolean begun;

    /** How much of the first work request was copied. */
    private long done;

    /** How much may still be copied in this turn. */
    private long left;

    LocalRequester(SoftQueuePair queuePair, SoftDevice device) {
        super(queuePair);
        this.device = device;
        sends = queuePair.sends;
        segments = new Segments(device);
    }

    @Override
    void run() {
        left = BYTES_PER_TURN;
        while (isSending() && left > 0) {
            step();
        }
        if (isSending()) {
            device.turns.goOnLater(this);
        }
    }

    private boolean isSending() {
        int state = queuePair.state();
        return (state == Verbs.RTS || (state == Verbs.SQD && begun))
                && !queuePair.isPausing()
                && sends.tail != sends.head;
    }

    @Override
    boolean isDrained() {
        return !begun;
    }

    @Override
    void stop() {
        done = 0;
        device.turns.forget(this);
    }

    /** Does the first work request, or a part of it. */
    private void step() {
        long slot = sends.slot(sends.tail);
        long rest = SendQueue.bytes(slot) - done;
        long part = rest <= WHOLE ? rest : Math.min(rest, left);
        int status = execute(slot, Memory.getInt(slot + SendQueue.OPCODE), part);
        begun = status == Responder.NOT_READY || status == Responder.SILENT || status == Responder.MORE;
        // Who tries again begins anew.
        done = status == Responder.MORE ? done + part : 0;
        left -= part;
        if (status == Responder.MORE) {
            return;
        }
        if (status == Verbs.SUCCESS) {
            queuePair.resetRetries();
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
        if (!queuePair.hasTimer()) {
            // The message is lost, as it would be on a wire.
            queuePair.pauseForEver();
        } else if (queuePair.mayRetry()) {
            queuePair.armTimer();
        }
    }

    private void tryAgainWhenReady() {
        if (queuePair.mayRetryWhenReady()) {
            SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
            queuePair.pause(Aeth.rnrNanos(peer == null ? 0 : peer.minRnrTimer()));
        }
    }

    /** The status of a work request, or a number of {@link Responder}. */
    private int execute(long slot, int opcode, long part) {
        int here = queuePair.checkLocally(slot, opcode);
        if (here != SoftQueuePair.TO_PEER) {
            return here;
        }
        int status = toPeer(slot, opcode, part);
        boolean lost = queuePair.type == Verbs.UC && (status == Responder.NOT_READY || status == Responder.SILENT);
        return lost ? Verbs.SUCCESS : status;
    }

    private int toPeer(long slot, int opcode, long part) {
        SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
        if (peer == null
                || peer.type != queuePair.type
                || peer.destination() != queuePair.number
                || !peer.canReceive()) {
            return Responder.SILENT;
        }
        if (opcode == Verbs.WR_SEND
                || opcode == Verbs.WR_SEND_IMM
                || (opcode == Verbs.WR_SEND_INV && queuePair.type == Verbs.RC)) {
            return peer.responder.send(queuePair, slot, segments, done, part);
        }
        if (opcode == Verbs.WR_WRITE || opcode == Verbs.WR_WRITE_IMM) {
            return peer.responder.write(queuePair, slot, segments, done, part);
        }
        if (queuePair.type == Verbs.RC && opcode == Verbs.WR_READ) {
            segments.start(SendQueue.list(slot), SendQueue.segments(slot), done);
            return peer.responder.read(slot, segments, done, part);
        }
        if (queuePair.type == Verbs.RC && (opcode == Verbs.WR_COMPARE_SWAP || opcode == Verbs.WR_FETCH_ADD)) {
            segments.start(SendQueue.list(slot), SendQueue.segments(slot), 0);
            return peer.responder.atomic(slot, segments);
        }
        return Verbs.LOC_QP_OP_ERR;
    }
}
