package org.rdmapanama.samples.calls;

/** The peer did not answer, or not as it must. What became of the request is not known. */
public final class CallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what went wrong
     */
    public CallException(String message) {
        super(message);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param message what went wrong
     * @param cause the reason
     */
    public CallException(String message, Throwable cause) {
        super(message, cause);
    }
}
