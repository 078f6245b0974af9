package org.rdmapanama.rsocket;

/**
 * The 32 bits by which one side of a stream tells the other what it has written: the kind in the upper three bits, a number
 * below. They travel as immediate data, or, where a device has none, as a message of four bytes.
 */
final class StreamMessage {
    /** Bytes of the stream have been written; the number counts them. */
    static final int DATA = 0;

    /** The peer may send more messages, up to the number modulo 65,536, and perhaps into another part of the buffer. */
    static final int CREDITS = 4;

    /** Memory has been opened to writes of the peer; the number is its place in the peer's table. */
    static final int MAPPING = 6;

    /** The number is one of {@link #DISCONNECT}, {@link #KEEP_ALIVE} and {@link #SHUTDOWN}. */
    static final int CONTROL = 7;

    /** The sender ends both directions. */
    static final int DISCONNECT = 0;

    /** The sender is there. */
    static final int KEEP_ALIVE = 1;

    /** The sender sends nothing more. */
    static final int SHUTDOWN = 2;

    /** As long as a message is where it is not immediate data. */
    static final int BYTES = Integer.BYTES;

    private static final int NUMBER_BITS = 29;
    static final int MAX_NUMBER = (1 << NUMBER_BITS) - 1;

    private StreamMessage() {}

    static int of(int kind, int number) {
        return (kind << NUMBER_BITS) | (number & MAX_NUMBER);
    }

    static int kind(int message) {
        return message >>> NUMBER_BITS;
    }

    static int number(int message) {
        return message & MAX_NUMBER;
    }
}
