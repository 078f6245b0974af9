package org.rdmapanama.soft;

/**
 * Decides how long a {@link WireResponder} delays an acknowledgement: if the program replies to each message, until the
 * reply has been sent and a little longer, because one acknowledgement can then cover the next message as well. Callers
 * must hold the lock of the device.
 */
final class AcknowledgementDelay {
    /** The most packets that a delayed acknowledgement covers. */
    private static final int MAX_UNACKNOWLEDGED = 8;

    /** The most turns without a packet that an acknowledgement is delayed. */
    private static final int MAX_PATIENCE = 64;

    /** After this many acknowledgements that no packet preceded, delaying is tried again. */
    private static final int IMPATIENT_BEFORE_TRYING = 256;

    /** Whether to send an acknowledgement at the end of the turn. */
    private boolean owed;

    /** The number of packets that wait for it. */
    private int unacknowledged;

    /** Whether this queue pair has sent something since the last message. */
    private boolean posted;

    /** Whether it did so between the last two messages, so that a reply is likely and should go first. */
    private boolean replies;

    /** How many turns without a packet to delay an acknowledgement: few for a peer that seems to wait for it. */
    private int patience = MAX_PATIENCE;

    private int impatient;

    /** Notes a packet to acknowledge. Returns whether it is the first one since the last acknowledgement. */
    boolean owe() {
        if (owed && replies) {
            // The peer continued without it.
            patience = MAX_PATIENCE;
            impatient = 0;
        }
        replies = posted;
        posted = false;
        unacknowledged++;
        boolean first = !owed;
        owed = true;
        return first;
    }

    /** Returns whether there is something to acknowledge. */
    boolean isOwed() {
        return owed;
    }

    /** Called when the queue pair sends something. */
    void posted() {
        posted = true;
    }

    /**
     * Returns whether the acknowledgement can be delayed beyond this many turns without a packet, because the peer gets
     * a reply. A peer that turns out to wait for it gets acknowledgements earlier from now on.
     */
    boolean canWait(int turns) {
        boolean could = replies && unacknowledged < MAX_UNACKNOWLEDGED;
        if (could && turns >= patience) {
            impatient++;
            patience = impatient % IMPATIENT_BEFORE_TRYING == 0 ? MAX_PATIENCE : patience / 2;
            return false;
        }
        return could;
    }

    /** Called when everything has been acknowledged. */
    void acknowledged() {
        owed = false;
        unacknowledged = 0;
    }
}
