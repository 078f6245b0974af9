package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A queue pair of soft0 sends packets again. */
@Name("org.rdmapanama.Retransmission")
@Category({"RDMA", "soft0"})
@Label("Retransmission")
@Description("A queue pair of soft0 sends packets again whose answer is missing")
@StackTrace(false)
public final class Retransmission extends PairEvent {
    private static final Retransmission ANY = new Retransmission();

    /** The answer did not come within the timeout of the queue pair, which spends one of its retries. */
    public static final String TIMEOUT = "timeout";

    /** The peer has told that packets are missing, or an answer has come without an earlier one. */
    public static final String GAP = "gap";

    /** The answer takes longer than usual: one packet is sent again, to ask for it. */
    public static final String PROBE = "probe";

    @Label("Cause")
    @Description("timeout, gap or probe")
    String cause;

    @Label("First PSN")
    @Description("The sequence number of the first packet that is sent again")
    int psn;

    @Label("Packets")
    @Description("How many packets are sent again at most")
    int packets;

    private Retransmission() {}

    /**
     * Records a retransmission; the cause is one of the constants of this class. Allocates nothing unless somebody records
     * such events.
     */
    public static void tell(
            int queuePair, int destination, InetSocketAddress peer, String cause, int psn, int packets) {
        if (!ANY.isEnabled()) {
            return;
        }
        Retransmission event = new Retransmission();
        if (event.shouldCommit()) {
            event.between(queuePair, destination, peer);
            event.cause = cause;
            event.psn = psn;
            event.packets = packets;
            event.commit();
        }
    }
}
