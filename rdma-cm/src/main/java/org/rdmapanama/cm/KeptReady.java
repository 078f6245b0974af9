package org.rdmapanama.cm;

/**
 * Keeps an event channel ready while there is something to do for a program that came with events that any thread has
 * taken: a thread that waits for the channel would miss it otherwise. Threads: any.
 */
final class KeptReady {
    /** What there can be to do. */
    enum Reason {
        /** A handshake goes on or ends in {@link RdmaServer#accept}. */
        HANDSHAKE,
        /** {@link RdmaServer#nextEnded} returns a connection. */
        END,
        /** {@link RdmaServer#accept} says that the device has gone. */
        REMOVAL
    }

    private final EventChannel channel;

    /** A bit for each reason. Guarded by this. */
    private int reasons;

    KeptReady(EventChannel channel) {
        this.channel = channel;
    }

    /** Says whether there is something to do for a reason. */
    synchronized void set(Reason reason, boolean holds) {
        int bit = 1 << reason.ordinal();
        int before = reasons;
        reasons = holds ? before | bit : before & ~bit;
        if (before == 0 != (reasons == 0)) {
            channel.keepReady(reasons != 0);
        }
    }
}
