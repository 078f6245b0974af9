package org.rdmapanama.samples.calls;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The header of requests and answers, 16 bytes, little endian: what is asked for or how it went, a number that the answer
 * repeats, and two numbers whose meaning depends on the first.
 */
public final class CallMessage {
    /** The bytes before the body. */
    public static final int HEADER = 16;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final int KIND = 0;
    private static final int ID = 4;
    private static final int FIRST = 8;
    private static final int SECOND = 12;

    private CallMessage() {}

    /**
     * Writes what a message says of itself; its id is the caller's.
     *
     * @param message the message
     * @param kind the request or the status
     * @param first the first number
     * @param second the second number
     */
    public static void write(MemorySegment message, int kind, int first, int second) {
        message.set(INT, KIND, kind);
        message.set(INT, FIRST, first);
        message.set(INT, SECOND, second);
    }

    /**
     * Returns the request, or the status of an answer.
     *
     * @param message the message
     * @return the number
     */
    public static int kind(MemorySegment message) {
        return message.get(INT, KIND);
    }

    /**
     * Returns the first number.
     *
     * @param message the message
     * @return the number, of which nothing is checked
     */
    public static int first(MemorySegment message) {
        return message.get(INT, FIRST);
    }

    /**
     * Returns the second number.
     *
     * @param message the message
     * @return the number, of which nothing is checked
     */
    public static int second(MemorySegment message) {
        return message.get(INT, SECOND);
    }

    /**
     * Returns the number that an answer repeats.
     *
     * @param message the message
     * @return the id
     */
    public static int id(MemorySegment message) {
        return message.get(INT, ID);
    }

    /**
     * Sets the number that an answer repeats.
     *
     * @param message the message
     * @param id the id
     */
    public static void id(MemorySegment message, int id) {
        message.set(INT, ID, id);
    }
}
