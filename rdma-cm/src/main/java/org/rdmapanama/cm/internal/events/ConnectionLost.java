package org.rdmapanama.cm.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A connection ended without being ended by this side: by the peer, by its silence, or by a failure. */
@Name("org.rdmapanama.ConnectionLost")
@Category("RDMA")
@Label("Connection Lost")
@Description("A connection was ended, but not by this side: by the peer, by its silence, or by a failure")
@StackTrace(false)
public final class ConnectionLost extends Event {
    @Label("Local Address")
    String localAddress;

    @Label("Remote Address")
    String remoteAddress;

    @Label("Queue Pair")
    @Description("The number of the queue pair on this side")
    String queuePair;

    @Label("Reason")
    String reason;

    /** Records the end of a connection. */
    public void tell(Object local, Object remote, int number, Object why) {
        if (shouldCommit()) {
            localAddress = local.toString();
            remoteAddress = remote.toString();
            queuePair = "0x%06x".formatted(number);
            reason = String.valueOf(why);
            commit();
        }
    }
}
