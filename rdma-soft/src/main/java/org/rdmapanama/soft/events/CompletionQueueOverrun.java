package org.rdmapanama.soft.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A completion queue of soft0 had no room for a completion. Recorded for the first one of each queue. */
@Name("org.rdmapanama.CompletionQueueOverrun")
@Category("RDMA")
@Label("Completion Queue Overrun")
@Description("A completion found no room in its queue and is lost; the queue pairs of the queue fail")
@StackTrace(false)
public final class CompletionQueueOverrun extends Event {
    private static final CompletionQueueOverrun ANY = new CompletionQueueOverrun();

    @Label("Device")
    String device;

    @Label("Number")
    @Description("The number of the completion queue")
    int number;

    @Label("Entries")
    @Description("The size of the completion queue")
    int entries;

    private CompletionQueueOverrun() {}

    /** Records an overrun. Allocates nothing unless somebody records such events. */
    public static void tell(String device, int number, int entries) {
        if (!ANY.isEnabled()) {
            return;
        }
        CompletionQueueOverrun event = new CompletionQueueOverrun();
        if (event.shouldCommit()) {
            event.device = device;
            event.number = number;
            event.entries = entries;
            event.commit();
        }
    }
}
