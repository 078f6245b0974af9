package org.rdmapanama;

import org.rdmapanama.internal.ErrnoText;

/**
 * Thrown when the device, its driver or the kernel does not support a verb. The call was really made, except where a
 * driver is known to do harm instead of refusing. The exception carries the errno that was, or should have been,
 * returned, and names the capability that a program can check in advance. It is not a {@link VerbsException}, which is
 * the failure of a supported verb.
 */
public final class UnsupportedVerbException extends UnsupportedOperationException {
    private static final long serialVersionUID = 1L;

    /** The C function that failed. */
    private final String verb;

    /** The reason, as in errno(3). */
    private final int errno;

    /** Name of the device. */
    private final String device;

    /** The capability to look for. */
    private final String capability;

    /**
     * Creates an exception for an unsupported verb.
     *
     * @param verb the C function
     * @param errno the reported error, a positive value of errno(3)
     * @param device name of the device
     * @param arguments the arguments of the call, for people to read
     * @param capability the capability to look for
     */
    UnsupportedVerbException(String verb, int errno, String device, String arguments, String capability) {
        super(verb + " is not supported by " + device + " (" + ErrnoText.describe(errno) + ")"
                + (arguments.isEmpty() ? "" : " for " + arguments) + "; look for " + capability);
        this.verb = verb;
        this.errno = errno;
        this.device = device;
        this.capability = capability;
    }

    /** {@return the C name of the verb that is not supported, such as {@code ibv_open_xrcd}} */
    public String verb() {
        return verb;
    }

    /** {@return the positive errno(3) value that the verb reported, usually EOPNOTSUPP} */
    public int errno() {
        return errno;
    }

    /** {@return the name of the device, such as {@code rxe0}} */
    public String device() {
        return device;
    }

    /** {@return the capability to look for, and where it can be read, for people to read} */
    public String capability() {
        return capability;
    }
}
