package org.rdmapanama.cm;

import java.util.Map;

/**
 * What became of the clients of a server, since it listens. The numbers are read one after the other, so they may be those of
 * different moments while clients come and go.
 *
 * @param accepted the connections that the program got, by {@link RdmaServer#accept} or {@link ConnectionRequest#accept}
 * @param refused the requests that were rejected: by the program, for want of room, or because something failed here
 * @param failed the clients that were accepted and did not become connected: they went away or took too long
 * @param open the connections that the program got and has not closed, also those that have ended
 * @param ended the connections whose end {@link RdmaServer#nextEnded} has told or will tell, or would have told if the program had
 *     not closed them before
 * @param lost those of them that the peer did not end: their queue pair failed, their device has gone, the peer did not answer,
 *     or its process was killed; a device of the kernel ends the connections of a process that is killed, so these are not lost
 */
public record ServerCounts(long accepted, long refused, long failed, long open, long ended, long lost) {
    /** For JMX. */
    Map<String, Long> byName() {
        return Map.of(
                "accepted", accepted, "refused", refused, "failed", failed, "open", open, "ended", ended, "lost", lost);
    }
}
