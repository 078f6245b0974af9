package org.rdmapanama.cm.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A connection was established. With a client its duration is that of connecting. */
@Name("org.rdmapanama.ConnectionMade")
@Category("RDMA")
@Label("Connection Made")
@Description("A connection was established; with a client the duration is that of connecting")
@StackTrace(false)
public final class ConnectionMade extends Event {
    @Label("Side")
    @Description("client or server")
    String side;

    @Label("Local Address")
    String localAddress;

    @Label("Remote Address")
    String remoteAddress;

    @Label("Device")
    String device;

    @Label("Queue Pair")
    @Description("The number of the queue pair on this side")
    String queuePair;

    /** Records a connection. */
    public void tell(String theSide, Object local, Object remote, String deviceName, int number) {
        if (shouldCommit()) {
            side = theSide;
            localAddress = local.toString();
            remoteAddress = remote.toString();
            device = deviceName;
            queuePair = "0x%06x".formatted(number);
            commit();
        }
    }
}
