package org.rdmapanama.samples;

/** Something that went wrong in a way that the user can act on: the message says all there is to say. */
final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Failure(String message) {
        super(message);
    }

    Failure(String message, Throwable cause) {
        super(message, cause);
    }
}
