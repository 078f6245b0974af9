package org.rdmapanama.samples;

/** Something that went wrong in a way that the user can act on: the message says all there is to say. */
public final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Nothing else is known about it.
     *
     * @param message what went wrong, and what helps
     */
    public Failure(String message) {
        super(message);
    }

    /**
     * It comes of something else.
     *
     * @param message what went wrong, and what helps
     * @param cause what it comes of
     */
    public Failure(String message, Throwable cause) {
        super(message, cause);
    }
}
