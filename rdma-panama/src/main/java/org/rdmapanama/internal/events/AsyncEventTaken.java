package org.rdmapanama.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A program took an asynchronous event of a device. */
@Name("org.rdmapanama.AsyncEvent")
@Category("RDMA")
@Label("Asynchronous Event")
@Description("The program took an asynchronous event of a device; one that it does not wait for is not recorded")
@StackTrace(false)
public final class AsyncEventTaken extends Event {
    @Label("Device")
    String device;

    @Label("Type")
    @Description("Such as QP_FATAL, CQ_ERR or PORT_ERR")
    String type;

    @Label("Source")
    @Description("The queue pair, queue or device that the event is about")
    String source;

    private AsyncEventTaken() {}

    /** Records an event. */
    public static void tell(String device, Object type, Object source) {
        AsyncEventTaken event = new AsyncEventTaken();
        if (event.shouldCommit()) {
            event.device = device;
            event.type = type.toString();
            event.source = source.toString();
            event.commit();
        }
    }
}
