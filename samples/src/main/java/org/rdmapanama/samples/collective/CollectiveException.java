package org.rdmapanama.samples.collective;

/** A collective operation cannot be completed, on any rank; the message says why. */
final class CollectiveException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** {@link #rank} if no rank is to blame. */
    static final int NOBODY = -1;

    private final int rank;

    CollectiveException(int rank, String message) {
        super(message);
        this.rank = rank;
    }

    CollectiveException(int rank, String message, Throwable cause) {
        super(message, cause);
        this.rank = rank;
    }

    /** Returns the rank that has died, left, stopped or made another call; {@link #NOBODY} if there is none. */
    int rank() {
        return rank;
    }
}
