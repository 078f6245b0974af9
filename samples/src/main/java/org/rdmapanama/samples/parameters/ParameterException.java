package org.rdmapanama.samples.parameters;

/** The parameters cannot be read or changed. */
public final class ParameterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ParameterException(String message) {
        super(message);
    }

    ParameterException(String message, Throwable cause) {
        super(message, cause);
    }
}
