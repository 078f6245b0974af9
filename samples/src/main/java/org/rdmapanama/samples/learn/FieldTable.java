package org.rdmapanama.samples.learn;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;

/** The bytes of a frame with their meaning, header by header and field by field. */
final class FieldTable {
    /** So many bytes of data are shown. */
    private static final int MOST_DATA = 16;

    private static final HexFormat HEX = HexFormat.ofDelimiter(" ");

    /** A header, and where its first byte is in the frame. */
    private record Header(String name, int start) {}

    private final ByteBuffer frame;
    private final StringBuilder lines = new StringBuilder();
    private final List<Header> headers = new ArrayList<>();
    private int data;

    /**
     * Creates a table without lines.
     *
     * @param frame a direct buffer, which holds the frame from index 0 to its limit
     */
    FieldTable(ByteBuffer frame) {
        this.frame = frame.duplicate().rewind();
    }

    /** Returns the address of the next field. */
    long address() {
        return MemorySegment.ofBuffer(frame).address();
    }

    /** Returns how many bytes of the frame follow. */
    int remaining() {
        return frame.remaining();
    }

    /** Returns the next byte, as a number without sign. */
    int next8() {
        return Byte.toUnsignedInt(frame.get(frame.position()));
    }

    /** Returns the next two bytes, as a number without sign. */
    int next16() {
        return Short.toUnsignedInt(frame.getShort(frame.position()));
    }

    /** Returns the next four bytes. */
    int next32() {
        return frame.getInt(frame.position());
    }

    /** Returns the next eight bytes. */
    long next64() {
        return frame.getLong(frame.position());
    }

    /** Returns the next bytes as an IP address, of 4 or 16 bytes. */
    String nextAddress(int bytes) {
        try {
            return InetAddress.getByAddress(next(bytes)).getHostAddress();
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the next bytes. */
    byte[] next(int count) {
        byte[] bytes = new byte[count];
        frame.get(frame.position(), bytes);
        return bytes;
    }

    /** Begins a header whose name says enough. */
    void header(String name) {
        header(name, "");
    }

    /** Begins a header. */
    void header(String name, String inFull) {
        headers.add(new Header(name, frame.position()));
        lines.append("  ").append(name);
        if (!inFull.isEmpty()) {
            lines.append(", ").append(inFull);
        }
        lines.append('\n');
    }

    /** Adds the next field, with what it means. */
    void field(int bytes, String meaning, Object... values) {
        line(bytes, String.format(Locale.ROOT, meaning, values));
    }

    /** Adds the data of the packet and its padding, of which there may be none. */
    void data(int bytes, int pad) {
        if (bytes > 0) {
            header("data");
            line(bytes, inBytes(bytes));
            data += bytes;
        }
        if (pad > 0) {
            header("padding");
            field(pad, "to a multiple of four bytes");
        }
    }

    private void line(int bytes, String meaning) {
        String shown = HEX.formatHex(next(Math.min(bytes, MOST_DATA))) + (bytes > MOST_DATA ? " ..." : "");
        lines.append(String.format(Locale.ROOT, "    %-24s  %s\n", shown, meaning));
        frame.position(frame.position() + bytes);
    }

    /** Returns a heading, the overhead and all lines. */
    String text(String heading) {
        return heading + ", " + inBytes(frame.limit()) + "\n  " + overhead() + "\n" + lines;
    }

    /** Returns how many bytes are not data. */
    String overhead() {
        return inBytes(frame.limit() - data) + (data == 0 ? ", no data" : " around " + inBytes(data) + " of data");
    }

    /** Returns the headers with their sizes, and whatever else is not data. */
    String sizes() {
        List<String> sizes = new ArrayList<>();
        for (int i = 0; i < headers.size(); i++) {
            Header header = headers.get(i);
            int end = i + 1 < headers.size() ? headers.get(i + 1).start() : frame.position();
            if (!header.name().equals("data")) {
                sizes.add(header.name() + " " + (end - header.start()));
            }
        }
        return String.join(", ", sizes);
    }

    private static String inBytes(int count) {
        return count + (count == 1 ? " byte" : " bytes");
    }
}
