package org.rdmapanama.internal.events;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Memory was deregistered, or could not be. Its duration is that of the verb. */
@Name("org.rdmapanama.MemoryDeregistration")
@Category("RDMA")
@Label("Memory Deregistration")
@Description("A memory region was closed, or could not be")
@StackTrace
public final class MemoryDeregistration extends Event {
    @Label("Device")
    String device;

    @Label("Size")
    @Description("0 for a region without a size, of nothing or of all memory")
    @DataAmount
    long bytes;

    @Label("Error")
    @Description("The errno with which it failed; 0 if it did not")
    int errno;

    /** Created before the verb. */
    public MemoryDeregistration() {
        begin();
    }

    /**
     * Called after the verb. Throws nothing.
     *
     * @param result what it returned, negative for a failure
     */
    public void done(String deviceName, long byteSize, int result) {
        try {
            if (shouldCommit()) {
                device = deviceName;
                bytes = byteSize;
                errno = -result;
                commit();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            // The verb has been called, and the caller must take note of what it did.
        }
    }
}
