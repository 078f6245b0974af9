package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

/** A queue pair of soft0 could not send because too much was in flight to its peer. */
@Name("org.rdmapanama.WindowStall")
@Category({"RDMA", "soft0"})
@Label("Window Stall")
@Description(
        "A queue pair of soft0 waited because all queue pairs together had as much in flight to its peer as they may")
@StackTrace(false)
@Threshold("1 ms")
public final class WindowStall extends PairEvent {
    private static final WindowStall ANY = new WindowStall();

    private WindowStall() {}

    /** Called when the wait begins. Returns null, and allocates nothing, unless somebody records such events. */
    public static WindowStall start() {
        if (!ANY.isEnabled()) {
            return null;
        }
        WindowStall stall = new WindowStall();
        stall.begin();
        return stall;
    }

    /** Called when the wait ends. */
    public void done(int number, int peersNumber, InetSocketAddress address) {
        if (shouldCommit()) {
            between(number, peersNumber, address);
            commit();
        }
    }
}
