package org.rdmapanama.soft.events;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** soft0 received a packet and dropped it. */
@Name("org.rdmapanama.PacketDropped")
@Category({"RDMA", "soft0"})
@Label("Packet Dropped")
@Description("soft0 received a packet that it could not use")
@StackTrace(false)
public final class PacketDropped extends Event {
    private static final PacketDropped ANY = new PacketDropped();

    public static final String CHECKSUM = "wrong checksum";
    public static final String MALFORMED = "malformed";
    public static final String NO_QUEUE_PAIR = "no such queue pair";
    public static final String TYPE = "of another transport than the queue pair";

    /** The queue pair cannot receive in its state, or is connected to another peer. */
    public static final String NOT_CONNECTED = "not from the peer of the queue pair";

    /** The queue pair cannot receive it in its state, is of another type, or has another Q_Key; or no receive takes it. */
    public static final String DATAGRAM = "no receive or another Q_Key";

    @Label("Reason")
    String reason;

    @Label("Peer")
    @Description("Where it came from")
    String peer;

    @Label("Queue Pair")
    @Description("The number of the queue pair that it was for; 0x000000 if that is not known")
    String queuePair;

    @Label("Size")
    @DataAmount
    long bytes;

    private PacketDropped() {}

    /**
     * Records a packet; the reason is one of the constants of this class. The peer is null on the same device. Allocates
     * nothing unless somebody records such events.
     */
    public static void tell(String reason, InetSocketAddress peer, int queuePair, int bytes) {
        if (!ANY.isEnabled()) {
            return;
        }
        PacketDropped event = new PacketDropped();
        if (event.shouldCommit()) {
            event.reason = reason;
            event.peer = Peers.text(peer);
            event.queuePair = "0x%06x".formatted(queuePair);
            event.bytes = bytes;
            event.commit();
        }
    }
}
