package org.rdmapanama.internal.events;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Threshold;

/** A thread slept until a completion came, or did not come. */
@Name("org.rdmapanama.CompletionWait")
@Category("RDMA")
@Label("Wait for a Completion")
@Description("CompletionQueue.await slept for longer than the threshold")
@Threshold("20 ms")
public final class CompletionWait extends Event {
    private static final CompletionWait ANY = new CompletionWait();

    @Label("Device")
    String device;

    @Label("Entries")
    @Description("The size of the completion queue")
    int entries;

    @Label("Completions")
    @Description("How many came; 0 after the time limit or a wakeup")
    int completions;

    private CompletionWait() {}

    /** Called before the sleep. Returns null, and allocates nothing, unless somebody records such events. */
    public static CompletionWait start() {
        if (!ANY.isEnabled()) {
            return null;
        }
        CompletionWait wait = new CompletionWait();
        wait.begin();
        return wait;
    }

    /** Called after the sleep. */
    public void done(String deviceName, int queueEntries, int count) {
        if (shouldCommit()) {
            device = deviceName;
            entries = queueEntries;
            completions = count;
            commit();
        }
    }
}
