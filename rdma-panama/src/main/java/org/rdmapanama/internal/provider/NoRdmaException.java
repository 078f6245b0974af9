package org.rdmapanama.internal.provider;

/**
 * Thrown when there can be no devices, because required software is not installed, or not in the kernel. Unlike every
 * other failure, this one is ignored if another provider has devices.
 */
public final class NoRdmaException extends ProviderException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception for a failed call.
     *
     * @param verb the C function that failed
     * @param errno the reason, a positive errno value
     * @param cure what to install or to load
     */
    public NoRdmaException(String verb, int errno, String cure) {
        super(verb, errno, cure);
    }
}
