package com.example;

/**
 * What clients and the server send each other. A request is one message: the operation, the length of the key, the key, and
 * the value. So is its answer: a status, and the value. The value is the rest of the message, so it has no length of its own.
 */
final class Message {
    /** The longest message, in bytes. */
    static final int MOST = 4096;

    /** The longest key, in bytes of UTF-8. */
    static final int MOST_KEY = 255;

    /** Where the key begins in a request. The operation is in front of it, and its length in one byte. */
    static final int KEY = 2;

    /** Where the value begins in an answer. */
    static final int VALUE = 1;

    // Operations.
    static final byte PUT = 1;
    static final byte GET = 2;
    static final byte REMOVE = 3;

    // Statuses.
    static final byte OK = 0;
    static final byte ABSENT = 1;
    static final byte MALFORMED = 2;
    static final byte FULL = 3;

    private Message() {}
}
