package org.rdmapanama.internal.provider;

/** A device list or a device that could not be had. The object model turns it into its own exception. */
public class ProviderException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String verb;
    private final int errno;

    /**
     * A failed call.
     *
     * @param verb the C function that failed
     * @param errno why, a positive errno value
     * @param cure what to do about it, or null
     */
    public ProviderException(String verb, int errno, String cure) {
        super(cure);
        this.verb = verb;
        this.errno = errno;
    }

    /**
     * The C function that failed.
     *
     * @return its name
     */
    public String verb() {
        return verb;
    }

    /**
     * Why it failed.
     *
     * @return a positive errno value
     */
    public int errno() {
        return errno;
    }
}
