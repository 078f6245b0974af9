package org.rdmapanama.internal.events;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Memory was registered, or its registration changed, or that failed. Its duration is that of the verb. */
@Name("org.rdmapanama.MemoryRegistration")
@Category("RDMA")
@Label("Memory Registration")
@Description("Memory was registered with a device, which pins its pages, or a registration was changed, or that failed")
@StackTrace
public final class MemoryRegistration extends Event {
    @Label("Device")
    String device;

    @Label("Verb")
    @Description("ibv_reg_mr, or its kind for other memory or with other arguments")
    String verb;

    @Label("Size")
    @Description("0 for a region without a size, of nothing or of all memory")
    @DataAmount
    long bytes;

    @Label("Access")
    @Description("What the device and its peers may do with the memory")
    String access;

    @Label("Error")
    @Description("The errno with which it failed; 0 if it did not")
    int errno;

    /** Created before the verb. */
    public MemoryRegistration() {
        begin();
    }

    /**
     * Called after the verb. Throws nothing.
     *
     * @param result what it returned, negative for a failure
     */
    public void done(String deviceName, String called, long byteSize, Object flags, long result) {
        try {
            if (shouldCommit()) {
                device = deviceName;
                verb = called;
                bytes = byteSize;
                access = flags.toString();
                errno = result < 0 ? (int) -result : 0;
                commit();
            }
        } catch (RuntimeException | OutOfMemoryError e) {
            // The verb has been called, and the caller must take note of what it did.
        }
    }
}
