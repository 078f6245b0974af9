package org.rdmapanama.soft;

import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Aeth;

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

    private final SoftDevice device;
    private final SendQueue sends;
    private final ScatterGatherCursor segments;

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
        segments = new ScatterGatherCursor(device);
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
        begun = status == Responder.NOT_READY || status == Responder.SILENT || status == Responder.MORE;
        // A retry starts from the beginning.
        done = status == Responder.MORE ? done + part : 0;
        left -= part;
        if (status == Responder.MORE) {
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
        if (queuePair.timer.mayRetryWhenReady()) {
            SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
            queuePair.timer.pause(Aeth.rnrNanos(peer == null ? 0 : peer.minRnrTimer()));
        }
    }

    /** Returns the status of a work request, or one of the constants of {@link Responder}. */
    private int execute(long slot, int opcode, long part) {
        int here = queuePair.work.check(slot, opcode);
        if (here != LocalWork.TO_PEER) {
            return here;
        }
        if (SendQueue.isAnswered(opcode) && queuePair.maxReadAtomic() == 0) {
            return VerbsConstants.LOC_QP_OP_ERR;
        }
        int status = toPeer(slot, opcode, part);
        boolean lost =
                queuePair.type == VerbsConstants.UC && (status == Responder.NOT_READY || status == Responder.SILENT);
        return lost ? VerbsConstants.SUCCESS : status;
    }

    private int toPeer(long slot, int opcode, long part) {
        SoftQueuePair peer = device.queuePairs.get(queuePair.destination());
        if (peer == null
                || peer.type != queuePair.type
                || peer.destination() != queuePair.number
                || !peer.hasPeerHere()
                || !peer.canReceive()) {
            return Responder.SILENT;
        }
        peer.tellEstablished();
        if (opcode == VerbsConstants.WR_SEND
                || opcode == VerbsConstants.WR_SEND_IMM
                || (opcode == VerbsConstants.WR_SEND_INV && queuePair.type == VerbsConstants.RC)) {
            return peer.responder.send(queuePair, slot, segments, done, part);
        }
        if (opcode == VerbsConstants.WR_WRITE || opcode == VerbsConstants.WR_WRITE_IMM) {
            return peer.responder.write(queuePair, slot, segments, done, part);
        }
        if (queuePair.type == VerbsConstants.RC && opcode == VerbsConstants.WR_READ) {
            segments.start(SendQueue.list(slot), SendQueue.segments(slot), done);
            return peer.responder.read(slot, segments, done, part);
        }
        if (queuePair.type == VerbsConstants.RC && SendQueue.isAtomic(opcode)) {
            segments.start(SendQueue.list(slot), SendQueue.segments(slot), 0);
            return peer.responder.atomic(slot, segments);
        }
        return VerbsConstants.LOC_QP_OP_ERR;
    }
}
