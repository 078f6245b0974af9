package org.rdmapanama.internal.provider;

/** Thrown when devices could not be listed or opened. The object model translates it into its own exception. */
public class ProviderException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String verb;
    private final int errno;

    /**
     * Creates an exception for a failed call.
     *
     * @param verb the C function that failed
     * @param errno the reason, a positive errno value
     * @param cure what to do about it, or null
     */
    public ProviderException(String verb, int errno, String cure) {
        super(cure);
        this.verb = verb;
        this.errno = errno;
    }

    /** {@return the name of the C function that failed} */
    public String verb() {
        return verb;
    }

    /** {@return the positive errno value that says why the function failed} */
    public int errno() {
        return errno;
    }
}
