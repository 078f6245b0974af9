package org.rdmapanama;

/**
 * A verb that the device, its driver or the kernel does not have. The call was really made, save where a driver is known
 * to do harm instead of refusing: this carries the errno that came back, or would have to, and names the capability by
 * which a program can know beforehand. It is no {@link VerbsException}, which is a verb that is there and failed.
 */
public final class UnsupportedVerbException extends UnsupportedOperationException {
    private static final long serialVersionUID = 1L;

    /** The C function that failed. */
    private final String verb;

    /** Why it failed, as in errno(3). */
    private final int errno;

    /** Name of the device. */
    private final String device;

    /** What to look for. */
    private final String capability;

    /**
     * A verb that is not there.
     *
     * @param verb the C function
     * @param errno what it reported, a positive value of errno(3)
     * @param device name of the device
     * @param arguments what it was called with, for people to read
     * @param capability what to look for
     */
    UnsupportedVerbException(String verb, int errno, String device, String arguments, String capability) {
        super(verb + " is not supported by " + device + " (" + Errno.describe(errno) + ")"
                + (arguments.isEmpty() ? "" : " for " + arguments) + "; look for " + capability);
        this.verb = verb;
        this.errno = errno;
        this.device = device;
        this.capability = capability;
    }

    /**
     * The verb that the device does not have.
     *
     * @return its C name, such as {@code ibv_open_xrcd}
     */
    public String verb() {
        return verb;
    }

    /**
     * What the verb reported.
     *
     * @return a positive number of errno(3), mostly EOPNOTSUPP
     */
    public int errno() {
        return errno;
    }

    /**
     * The device without the verb.
     *
     * @return its name, such as {@code rxe0}
     */
    public String device() {
        return device;
    }

    /**
     * The capability that a device with this verb has, and where to read it.
     *
     * @return text for people
     */
    public String capability() {
        return capability;
    }
}
