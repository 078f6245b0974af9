package org.rdmapanama.efa.direct;

import org.rdmapanama.internal.provider.DirectCompletionQueue;

/** Tells the GID of a sender for which the device knows no address handle. */
public final class SourceGid {
    private SourceGid() {}

    /**
     * Reads the GID of the sender of the current completion of a queue that was created to tell it.
     *
     * @param queue a queue of the direct path of EFA, with a batch open and a current completion of a receive
     * @param gid where to store 16 bytes
     * @return false if there was an address handle for the sender, and nothing was stored
     */
    public static boolean read(DirectCompletionQueue queue, long gid) {
        return ((RingCompletionVerbs) queue.completionVerbs()).readSourceGid(gid);
    }
}
