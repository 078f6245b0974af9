package org.rdmapanama.internal.provider;

/**
 * There are no devices to list, because what they need is not installed here, or not in the kernel. Unlike every other
 * failure, this one does not matter where another provider has devices.
 */
public final class NoRdmaException extends ProviderException {
    private static final long serialVersionUID = 1L;

    /**
     * A failed call.
     *
     * @param verb the C function that failed
     * @param errno why, a positive errno value
     * @param cure what to install or to load
     */
    public NoRdmaException(String verb, int errno, String cure) {
        super(verb, errno, cure);
    }
}
