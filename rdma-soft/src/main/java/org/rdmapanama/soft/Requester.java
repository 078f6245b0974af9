package org.rdmapanama.soft;

/**
 * The sending half of a queue pair, from RTS on: executes posted work requests in order and completes them. There is
 * one subclass per kind of peer: {@link LocalRequester} on the same device, {@link WireRequester} on another one, and
 * {@link DatagramRequester} for UD. {@link SoftQueuePair} runs it when work is posted or a timer fires, {@link ProgressEngine}
 * at the end of a turn. Callers must hold the lock of the device.
 */
abstract class Requester extends DeferredSender {
    Requester(SoftQueuePair queuePair) {
        super(queuePair);
    }

    /** Executes as many posted work requests as possible now. */
    abstract void run();

    /** Returns whether no started work request is incomplete. */
    abstract boolean isDrained();

    /** Called when the timer of the queue pair fires: no answer arrived, or the receiver may be ready now. */
    void expired() {
        run();
    }

    /** Called when sending has ended anywhere: what the peer has not acknowledged is sent again when this runs next. */
    void repeat() {
        // Nothing is ever sent again.
    }

    /** Returns whether an answer of the peer is outstanding. */
    boolean isWaiting() {
        return false;
    }

    /** Returns whether an answer with this PSN can be an answer of the peer. */
    boolean isExpected(int psn) {
        return false;
    }

    /** Sends a request that changes nothing, and that a peer on another device answers. */
    void probe() {
        // A local peer is always there.
    }

    /** Handles an acknowledgement or a response of a peer on another device. */
    void receive(long packet, int opcode, int payloadBytes) {
        // No answers are expected.
    }

    /** Called when the peer has seen a mark of congestion on a packet of this side. */
    void congested() {
        // There is no network.
    }

    /** Sets the address of the peer. */
    void path(SoftAddressHandle newPath) {
        // A local peer is found by its number.
    }

    /** Called when all posted work requests have been flushed: continues with those that are posted from now on. */
    void skipFlushed() {
        // Nothing is known of a work request that has not completed.
    }

    /** Stops sending. */
    void stop() {
        // Nothing is in progress.
    }

    @Override
    void endTurn() {
        run();
    }
}
