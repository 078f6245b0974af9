package org.rdmapanama.soft;

/**
 * Notices that a message waits long for a receive that nobody posts: it is repeated, for ever by default, and no completion
 * ever tells. A queue pair has one for what it sends, and one for what it should receive. Callers must hold the lock of the
 * device.
 */
final class ReceiveShortage {
    /** How long a message must have waited. */
    static final long PATIENCE_NANOS = 1_000_000_000;

    /** Which message waits. */
    private int message;

    private long since;
    private boolean waits;
    private boolean told;

    /**
     * Notes that a message finds no receive.
     *
     * @param number what tells the message from the one before and the one behind it
     * @return true once: when one message has waited for long
     */
    boolean isNews(int number) {
        long now = System.nanoTime();
        if (!waits || number != message) {
            waits = true;
            message = number;
            since = now;
        }
        if (told || now - since < PATIENCE_NANOS) {
            return false;
        }
        told = true;
        return true;
    }

    /** Forgets the message, because the connection has ended. */
    void clear() {
        waits = false;
    }
}
