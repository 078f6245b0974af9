package org.rdmapanama.samples.log;

/** What is wrong with a replicated log or one of its nodes; the message says what was required, and the cure. */
class LogException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    LogException(String message) {
        super(message);
    }

    LogException(String message, Throwable cause) {
        super(message, cause);
    }
}
