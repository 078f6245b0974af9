package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.rdmapanama.memory.RemoteMemory;

/**
 * A control message between the two sides of a transfer, exchanged by SEND and RECEIVE: 128 bytes in network byte
 * order.
 *
 * @param type the type of the message
 * @param size size of the data, in bytes
 * @param memory what the sender opens to the peer; empty if the message tells of none
 * @param checksum CRC32C of the data
 * @param text why the transfer was refused, for people to read; otherwise empty
 */
record ControlMessage(Type type, long size, RemoteMemory memory, int checksum, String text) {
    /** Size on the wire. */
    static final int BYTES = 128;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int MAGIC = 0x5244_5033;
    private static final long TYPE = 4;
    private static final long SIZE = 8;
    private static final long MEMORY = 16;
    private static final long CHECKSUM = MEMORY + RemoteMemory.BYTES;
    private static final long TEXT_LENGTH = CHECKSUM + 4;
    private static final long TEXT = TEXT_LENGTH + 4;
    private static final int MAX_TEXT = (int) (BYTES - TEXT);

    /** The message types, in the order in which they are sent. */
    enum Type {
        /** Both sides announce where they keep their heartbeat counter. */
        GREETING,
        /** The client asks for memory of a size. */
        HELLO,
        /** The server has the memory. */
        READY,
        /** The client has written all of it, with this checksum. */
        WRITTEN,
        /** The server found this checksum in its memory. */
        VERIFIED,
        /** Nothing is left to do; both sides send it. */
        DONE,
        /** The sender cannot go on; the text says why. */
        REFUSED,
    }

    private static final Type[] TYPES = Type.values();
    private static final RemoteMemory NONE = new RemoteMemory(0, 0, 0);

    static ControlMessage greeting(RemoteMemory counter) {
        return new ControlMessage(Type.GREETING, 0, counter, 0, "");
    }

    static ControlMessage hello(long size) {
        return new ControlMessage(Type.HELLO, size, NONE, 0, "");
    }

    static ControlMessage ready(RemoteMemory memory) {
        return new ControlMessage(Type.READY, memory.length(), memory, 0, "");
    }

    static ControlMessage written(long size, int checksum) {
        return new ControlMessage(Type.WRITTEN, size, NONE, checksum, "");
    }

    static ControlMessage verified(long size, int checksum) {
        return new ControlMessage(Type.VERIFIED, size, NONE, checksum, "");
    }

    static ControlMessage done() {
        return new ControlMessage(Type.DONE, 0, NONE, 0, "");
    }

    static ControlMessage refused(String why) {
        return new ControlMessage(Type.REFUSED, 0, NONE, 0, why);
    }

    void write(MemorySegment segment) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        int length = Math.min(bytes.length, MAX_TEXT);
        segment.set(INT, 0, MAGIC);
        segment.set(INT, TYPE, type.ordinal());
        segment.set(LONG, SIZE, size);
        memory.writeTo(segment.asSlice(MEMORY));
        segment.set(INT, CHECKSUM, checksum);
        segment.set(INT, TEXT_LENGTH, length);
        MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, TEXT, length);
    }

    /** Decodes a message. The segment may have any size, because what arrived may not be a control message. */
    static ControlMessage read(MemorySegment segment) {
        if (segment.byteSize() != BYTES || segment.get(INT, 0) != MAGIC) {
            throw anotherProtocol();
        }
        int type = segment.get(INT, TYPE);
        int length = segment.get(INT, TEXT_LENGTH);
        if (type < 0 || type >= TYPES.length || length < 0 || length > MAX_TEXT) {
            throw anotherProtocol();
        }
        byte[] bytes = new byte[length];
        MemorySegment.copy(segment, ValueLayout.JAVA_BYTE, TEXT, bytes, 0, length);
        return new ControlMessage(
                TYPES[type],
                segment.get(LONG, SIZE),
                memory(segment),
                segment.get(INT, CHECKSUM),
                new String(bytes, StandardCharsets.US_ASCII));
    }

    private static RemoteMemory memory(MemorySegment segment) {
        try {
            return RemoteMemory.readFrom(segment.asSlice(MEMORY));
        } catch (IllegalArgumentException e) {
            throw new Failure("the peer describes its memory wrongly: " + e.getMessage(), e);
        }
    }

    private static Failure anotherProtocol() {
        return new Failure("the peer speaks another protocol: both sides must run the same version of 'rdma transfer'");
    }
}
