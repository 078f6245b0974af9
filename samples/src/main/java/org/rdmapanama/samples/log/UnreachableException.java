package org.rdmapanama.samples.log;

/** A node cannot be reached now; it may be later. */
final class UnreachableException extends LogException {
    private static final long serialVersionUID = 1L;

    UnreachableException(String message) {
        super(message);
    }

    UnreachableException(String message, Throwable cause) {
        super(message, cause);
    }
}
