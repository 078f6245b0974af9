package org.rdmapanama.nvme.wire;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Reads and writes the fields of structures: numbers are little-endian and may lie anywhere, texts have a fixed size. */
public final class Fields {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** The size of a field that holds a qualified name: 223 bytes, and zeros (Base 2.0, 4.5). */
    public static final int NAME_BYTES = 256;

    private Fields() {}

    public static int get8(MemorySegment memory, long offset) {
        return memory.get(ValueLayout.JAVA_BYTE, offset) & 0xff;
    }

    public static void set8(MemorySegment memory, long offset, int value) {
        memory.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
    }

    public static int get16(MemorySegment memory, long offset) {
        return memory.get(SHORT, offset) & 0xffff;
    }

    public static void set16(MemorySegment memory, long offset, int value) {
        memory.set(SHORT, offset, (short) value);
    }

    public static int get32(MemorySegment memory, long offset) {
        return memory.get(INT, offset);
    }

    public static void set32(MemorySegment memory, long offset, int value) {
        memory.set(INT, offset, value);
    }

    public static long get64(MemorySegment memory, long offset) {
        return memory.get(LONG, offset);
    }

    public static void set64(MemorySegment memory, long offset, long value) {
        memory.set(LONG, offset, value);
    }

    /**
     * Returns the text of a field: up to its first zero byte, without spaces at its end. What is not printable ASCII
     * becomes a question mark, because the text comes from a peer and may be shown on a terminal.
     */
    public static String text(MemorySegment memory, long offset, int size) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < size; i++) {
            int each = get8(memory, offset + i);
            if (each == 0) {
                break;
            }
            text.append(each >= ' ' && each <= '~' ? (char) each : '?');
        }
        return text.toString().stripTrailing();
    }

    /** Writes a text and fills the rest of its field. What is too long is cut off. */
    public static void text(MemorySegment memory, long offset, int size, String text, char fill) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < size; i++) {
            set8(memory, offset + i, i < bytes.length ? bytes[i] : fill);
        }
    }

    /** Copies bytes out of a structure. */
    public static byte[] bytes(MemorySegment memory, long offset, int size) {
        return memory.asSlice(offset, size).toArray(ValueLayout.JAVA_BYTE);
    }
}
