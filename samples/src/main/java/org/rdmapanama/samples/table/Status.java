package org.rdmapanama.samples.table;

/** What the answers to changes mean. */
final class Status {
    private Status() {}

    /** Returns whether something was done. */
    static boolean check(int status, int maxEntry) {
        return switch (status) {
            case Request.OK -> true;
            case Request.ABSENT -> false;
            case Request.FULL ->
                throw new TableException(
                        "the table has no room for this key: remove others, or give the server a larger --max-slots or more memory");
            case Request.TOO_LONG -> throw new TableException(tooLong(maxEntry));
            default -> throw new TableException("the server answers with status " + status + ", which is not known");
        };
    }

    static String tooLong(int maxEntry) {
        return "a key must have at least one byte, and key and value together at most " + maxEntry
                + ": give the server a larger --slot";
    }
}
