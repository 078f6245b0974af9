package org.rdmapanama.samples.table;

/** The table cannot do what was asked, or cannot be reached. The message says which, and what to do. */
public final class TableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TableException(String message) {
        super(message);
    }

    TableException(String message, Throwable cause) {
        super(message, cause);
    }
}
