package org.rdmapanama.samples.stream;

/** How a side waits until it can read or write. */
enum Calls {
    /** Calls that return when there is something to read, or room to write. */
    BLOCKING("blocking calls"),

    /** Calls that return at once, repeated. */
    NON_BLOCKING("calls that return at once"),

    /** A selector that is asked again and again, and calls that return at once. */
    SPINNING_SELECTOR("a selector that spins"),

    /** A selector that sleeps until something is ready, and calls that return at once. */
    SLEEPING_SELECTOR("a selector that sleeps");

    /** For people. */
    final String title;

    Calls(String title) {
        this.title = title;
    }

    boolean selects() {
        return this == SPINNING_SELECTOR || this == SLEEPING_SELECTOR;
    }
}
