package org.rdmapanama.samples.selftest;

/** How a request is posted. */
enum Posting {
    REQUEST(""),
    REQUEST_INLINE(", inline"),
    CALLS(", call by call"),
    CALLS_INLINE(", call by call, inline");

    /** What follows the name of the operation. */
    final String text;

    Posting(String text) {
        this.text = text;
    }

    /** Whether the data is part of the request. */
    boolean isInline() {
        return this == REQUEST_INLINE || this == CALLS_INLINE;
    }

    /** Whether it is built with a {@link org.rdmapanama.WorkRequestBuilder}. */
    boolean isByCalls() {
        return this == CALLS || this == CALLS_INLINE;
    }
}
