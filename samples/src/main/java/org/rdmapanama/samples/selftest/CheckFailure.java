package org.rdmapanama.samples.selftest;

import java.util.List;

/** A check found something else than it expected. */
final class CheckFailure extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean silence;

    CheckFailure(String what, Object expected, Object found) {
        this(text(what, expected, found), false);
    }

    private CheckFailure(String message, boolean silence) {
        super(message);
        this.silence = silence;
    }

    private static String text(String what, Object expected, Object found) {
        return what + ": expected " + expected + ", found " + found;
    }

    /** Creates the failure of a check with several parts from the messages of those that failed. */
    static CheckFailure ofParts(List<String> messages) {
        return new CheckFailure(String.join("; ", messages), false);
    }

    /** Creates the failure of a check that waited for something that did not come. */
    static CheckFailure silence(String what, Object expected, Object found) {
        return new CheckFailure(text(what, expected, found), true);
    }

    /** Whether a message may have been lost, which unreliable transports do not recover. */
    boolean isSilence() {
        return silence;
    }
}
