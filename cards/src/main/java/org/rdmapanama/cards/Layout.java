package org.rdmapanama.cards;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.rdmapanama.soft.memory.Memory;

/** A C structure of the kernel's interface: names, offsets and sizes of its fields. Immutable. */
final class Layout {
    private record Field(int offset, int size) {}

    private static final Pattern SPACE = Pattern.compile("\\s+");

    private final Map<String, Field> fields = new HashMap<>();
    private final int size;

    private Layout(String text) {
        int offset = 0;
        int alignment = 1;
        for (String item : SPACE.splitAsStream(text.trim()).toList()) {
            int colon = item.indexOf(':');
            int bytes = Integer.parseInt(item.substring(colon + 1));
            int natural = bytes == 2 || bytes == 4 || bytes == 8 ? bytes : 1;
            if (offset % natural != 0) {
                throw new IllegalArgumentException(item + " is at offset " + offset + ", which must be a multiple of "
                        + natural + ": add the padding");
            }
            alignment = Math.max(alignment, natural);
            fields.put(item.substring(0, colon), new Field(offset, bytes));
            offset += bytes;
        }
        size = offset;
    }

    /**
     * Returns the layout of fields without gaps, such as {@code "response:8 pd_handle:4 reserved:4"}: the name and the
     * size in bytes of each. Only fields of 1, 2, 4 and 8 bytes can be read as numbers.
     */
    static Layout of(String fields) {
        return new Layout(fields);
    }

    /** Returns the size in bytes. */
    int size() {
        return size;
    }

    int offset(String field) {
        return field(field).offset;
    }

    /** Returns the names of the fields, in no order. */
    Iterable<String> names() {
        return fields.keySet();
    }

    int size(String field) {
        return field(field).size;
    }

    private Field field(String name) {
        Field field = fields.get(name);
        if (field == null) {
            throw new IllegalArgumentException("the structure has no field " + name + "; it has " + fields.keySet());
        }
        return field;
    }

    /** Returns a view of a structure at an address. */
    View at(long address) {
        return new View(this, address);
    }

    /** A structure in memory. Numbers are in the byte order of the machine. */
    record View(Layout layout, long address) {
        /** Reads a number, without its sign. */
        long get(String name) {
            Field field = layout.field(name);
            long at = address + field.offset;
            return switch (field.size) {
                case 1 -> Memory.getByte(at) & 0xffL;
                case 2 -> Memory.getShort(at) & 0xffffL;
                case 4 -> Memory.getInt(at) & 0xffffffffL;
                case 8 -> Memory.getLong(at);
                default -> throw new IllegalArgumentException(name + " is not a number");
            };
        }

        int getInt(String name) {
            return (int) get(name);
        }

        View set(String name, long value) {
            Field field = layout.field(name);
            long at = address + field.offset;
            switch (field.size) {
                case 1 -> Memory.putByte(at, (byte) value);
                case 2 -> Memory.putShort(at, (short) value);
                case 4 -> Memory.putInt(at, (int) value);
                case 8 -> Memory.putLong(at, value);
                default -> throw new IllegalArgumentException(name + " is not a number");
            }
            return this;
        }

        /** Returns the address of a field. */
        long addressOf(String name) {
            return address + layout.offset(name);
        }

        /** Returns the address behind the structure. */
        long end() {
            return address + layout.size;
        }
    }
}
