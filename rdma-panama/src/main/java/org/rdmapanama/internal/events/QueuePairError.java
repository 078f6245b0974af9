package org.rdmapanama.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A queue pair has failed, as a completion or an asynchronous event told. Flushed completions after it add none. */
@Name("org.rdmapanama.QueuePairError")
@Category("RDMA")
@Label("Queue Pair Error")
@Description("A completion or an asynchronous event told that a queue pair has failed")
@StackTrace(false)
public final class QueuePairError extends Event {
    private static final QueuePairError ANY = new QueuePairError();

    @Label("Device")
    String device;

    @Label("Queue Pair")
    @Description("The number of the queue pair")
    String queuePair;

    @Label("Type")
    String type;

    @Label("Status")
    @Description("The status of the completion that told of it; WR_FLUSH_ERR if none told the cause")
    String status;

    @Label("Asynchronous Event")
    @Description("The event that told of it; empty if a completion did")
    String asyncEvent;

    @Label("Cause")
    @Description("The operation, the peer, the likely cause and the cure")
    String cause;

    private QueuePairError() {}

    /** Records a failure. Allocates nothing unless somebody records such events. */
    public static void tell(String device, int number, Object type, Object status, Object asyncEvent, Object cause) {
        if (!ANY.isEnabled()) {
            return;
        }
        QueuePairError event = new QueuePairError();
        if (event.shouldCommit()) {
            event.device = device;
            event.queuePair = "0x%06x".formatted(number);
            event.type = type.toString();
            event.status = status.toString();
            event.asyncEvent = asyncEvent.toString();
            event.cause = cause.toString();
            event.commit();
        }
    }
}
