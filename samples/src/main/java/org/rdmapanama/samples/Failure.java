package org.rdmapanama.samples;

/** A failure that the user can act on: its message says everything. */
public final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates a failure without a cause.
     *
     * @param message what went wrong, and how to fix it
     */
    public Failure(String message) {
        super(message);
    }

    /**
     * Creates a failure with a cause.
     *
     * @param message what went wrong, and how to fix it
     * @param cause the exception that caused it
     */
    public Failure(String message, Throwable cause) {
        super(message, cause);
    }
}
