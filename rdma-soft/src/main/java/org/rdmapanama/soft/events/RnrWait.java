package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A queue pair of soft0 waits because its peer has posted no receive. Recorded when the wait begins. */
@Name("org.rdmapanama.RnrWait")
@Category({"RDMA", "soft0"})
@Label("Receiver Not Ready")
@Description("A queue pair of soft0 waits before it tries again, because its peer has posted no receive")
@StackTrace(false)
public final class RnrWait extends PairEvent {
    private static final RnrWait ANY = new RnrWait();

    @Label("Wait")
    @Description("How long it waits, as the peer demands")
    @Timespan
    long wait;

    private RnrWait() {}

    /**
     * Records a wait. The peer is null on the same device. Allocates nothing unless somebody records such events.
     */
    public static void tell(int queuePair, int destination, InetSocketAddress peer, long nanos) {
        if (!ANY.isEnabled()) {
            return;
        }
        RnrWait event = new RnrWait();
        if (event.shouldCommit()) {
            event.between(queuePair, destination, peer);
            event.wait = nanos;
            event.commit();
        }
    }
}
