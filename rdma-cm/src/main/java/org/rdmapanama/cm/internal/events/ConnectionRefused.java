package org.rdmapanama.cm.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An attempt to connect came to nothing: one side refused it, or it failed. */
@Name("org.rdmapanama.ConnectionRefused")
@Category("RDMA")
@Label("Connection Refused")
@Description("An attempt to connect came to nothing: one side refused it, or it failed")
@StackTrace(false)
public final class ConnectionRefused extends Event {
    @Label("Side")
    @Description("client or server")
    String side;

    @Label("Remote Address")
    @Description("Empty if it is not known any more")
    String remoteAddress;

    @Label("Reason")
    String reason;

    /** Records a failed attempt. */
    public void tell(String theSide, Object remote, Object why) {
        if (shouldCommit()) {
            side = theSide;
            remoteAddress = remote.toString();
            reason = String.valueOf(why);
            commit();
        }
    }
}
