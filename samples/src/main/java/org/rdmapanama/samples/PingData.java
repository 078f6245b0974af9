package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/** What rping sends: {@code rdma-ping-7: HIJK...}, a text that fills its buffer and is different in each ping. */
final class PingData {
    /** The shortest buffer that rping accepts: any ping number fits into it. */
    static final int MIN_BYTES = 26;

    /** The longest buffer that rping accepts. */
    static final int MAX_BYTES = 65_535;

    private static final byte FIRST = 'A';
    private static final int LETTERS = 'z' - 'A' + 1;

    private PingData() {}

    /** Writes the text of a ping, with a zero at the end. */
    static void fill(MemorySegment buffer, int ping) {
        byte[] head = head(ping);
        int last = (int) buffer.byteSize() - 1;
        for (int i = 0; i < last; i++) {
            buffer.set(ValueLayout.JAVA_BYTE, i, byteAt(head, ping, i));
        }
        buffer.set(ValueLayout.JAVA_BYTE, last, (byte) 0);
    }

    /** Returns the first position at which a buffer differs from the text of a ping, or -1. */
    static int firstWrongByte(MemorySegment buffer, int ping) {
        byte[] head = head(ping);
        int last = (int) buffer.byteSize() - 1;
        for (int i = 0; i <= last; i++) {
            byte expected = i == last ? 0 : byteAt(head, ping, i);
            if (buffer.get(ValueLayout.JAVA_BYTE, i) != expected) {
                return i;
            }
        }
        return -1;
    }

    /** Returns the length of the text in a buffer: up to its zero, or the whole buffer. */
    static int length(MemorySegment buffer) {
        int length = 0;
        while (length < buffer.byteSize() && buffer.get(ValueLayout.JAVA_BYTE, length) != 0) {
            length++;
        }
        return length;
    }

    /** Returns the text in a buffer; unprintable bytes and control characters become question marks. */
    static String text(MemorySegment buffer) {
        byte[] bytes = buffer.asSlice(0, length(buffer)).toArray(ValueLayout.JAVA_BYTE);
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] < ' ' || bytes[i] > '~') {
                bytes[i] = '?';
            }
        }
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    private static byte[] head(int ping) {
        return ("rdma-ping-" + ping + ": ").getBytes(StandardCharsets.US_ASCII);
    }

    private static byte byteAt(byte[] head, int ping, int index) {
        return index < head.length ? head[index] : (byte) (FIRST + (ping % LETTERS + index - head.length) % LETTERS);
    }
}
