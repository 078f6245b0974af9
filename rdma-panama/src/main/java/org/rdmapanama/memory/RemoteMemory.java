package org.rdmapanama.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.pool.RegisteredBuffer;

/**
 * Memory that a side has opened to its peers: where it is, how long it is, and the key that peers need. The owner takes
 * it from {@link MemoryRegion#remote}, {@link RegisteredBuffer#remote} or {@link MemoryWindowBinding#remote} and sends
 * it to the peer by any means; the peer uses it, or a slice of it, in work requests such as {@link
 * SendWorkRequest#rdmaWrite(RemoteMemory)}.
 *
 * <p>It is a description and opens nothing by itself. The owner's device checks each access against the region or
 * window of the key, and not against this: a slice says where to write, and does not keep the peer from the rest of the
 * region. A {@link MemoryWindowBinding memory window} does.
 *
 * <p>There are two forms to send it in. {@link #toString()} writes it as text of one line, and {@link #parse} reads it:
 * address and key in hexadecimal, and the length in decimal, separated by colons.
 *
 * <pre>00007f3c5a401000:0000a3b4:65536</pre>
 *
 * <p>{@link #writeTo(ByteBuffer)} writes it as {@value #BYTES} bytes in network byte order, and {@link
 * #readFrom(ByteBuffer)} reads them:
 *
 * <table>
 * <caption>The binary form</caption>
 * <tr><td>offset 0</td><td>8 bytes</td><td>address</td></tr>
 * <tr><td>offset 8</td><td>8 bytes</td><td>length</td></tr>
 * <tr><td>offset 16</td><td>4 bytes</td><td>remote key</td></tr>
 * </table>
 *
 * <p>What a peer sent is checked like the arguments of the constructor.
 *
 * @param address the address of the first byte for work requests of peers, unsigned 64 bits; 0 or an offset if the
 *     region or window is {@link AccessFlag#ZERO_BASED}
 * @param rkey the remote key, 32 bits
 * @param length the length in bytes, not negative
 */
public record RemoteMemory(long address, int rkey, long length) {
    /** Size of the binary form, in bytes. */
    public static final int BYTES = 20;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long LENGTH = 8;
    private static final long RKEY = 16;

    /** The longest line that {@link #parse} looks at: hostile ones are not even quoted. */
    private static final int MAX_LINE = 128;

    private static final Pattern LINE = Pattern.compile("([0-9a-fA-F]{1,16}):([0-9a-fA-F]{1,8}):([0-9]{1,19})");

    /**
     * Checks the length.
     *
     * @throws IllegalArgumentException when the length is negative, or the memory would extend beyond the last of 64
     *     bits of addresses
     */
    public RemoteMemory {
        if (length < 0) {
            throw new IllegalArgumentException("length of remote memory must not be negative: " + length);
        }
        if (length > 0 && Long.compareUnsigned(address + (length - 1), address) < 0) {
            throw new IllegalArgumentException("remote memory must end within 64 bits of address: " + length
                    + " bytes at 0x" + Long.toHexString(address));
        }
    }

    /**
     * Returns the part from an offset to the end.
     *
     * @param offset the start of the part, in bytes
     * @return the part, under the same key
     * @throws IndexOutOfBoundsException when the offset is negative or greater than the length
     */
    @CheckReturnValue
    public RemoteMemory slice(long offset) {
        checkRange(offset, 0);
        return slice(offset, length - offset);
    }

    /**
     * Returns a part.
     *
     * @param offset the start of the part, in bytes
     * @param byteSize the length of the part, in bytes
     * @return the part, under the same key
     * @throws IndexOutOfBoundsException when the part is not inside this
     */
    @CheckReturnValue
    public RemoteMemory slice(long offset, long byteSize) {
        checkRange(offset, byteSize);
        return new RemoteMemory(address + offset, rkey, byteSize);
    }

    private void checkRange(long offset, long byteSize) {
        if (offset < 0 || byteSize < 0 || byteSize > length - offset) {
            throw new IndexOutOfBoundsException("slice of " + byteSize + " bytes at offset " + offset
                    + " must lie within the " + length + " bytes of remote memory");
        }
    }

    /**
     * Writes the binary form to the start of a segment.
     *
     * @param target the segment, of at least {@value #BYTES} bytes with any alignment, native or on the heap
     * @throws IndexOutOfBoundsException when it is shorter
     * @throws IllegalArgumentException when it is read-only
     * @throws IllegalStateException when it is no longer alive
     * @throws WrongThreadException when it is confined to another thread
     */
    public void writeTo(MemorySegment target) {
        Objects.checkFromIndexSize(0, BYTES, target.byteSize());
        target.set(LONG, 0, address);
        target.set(LONG, LENGTH, length);
        target.set(INT, RKEY, rkey);
    }

    /**
     * Writes the binary form at the position of a buffer, and advances the position by {@value #BYTES}.
     *
     * @param target the buffer; its byte order does not matter
     * @throws IndexOutOfBoundsException when it has fewer bytes remaining; then nothing is written
     * @throws IllegalArgumentException when it is read-only
     */
    public void writeTo(ByteBuffer target) {
        writeTo(MemorySegment.ofBuffer(target));
        target.position(target.position() + BYTES);
    }

    /**
     * Reads the binary form from the start of a segment.
     *
     * @param source the segment, of at least {@value #BYTES} bytes with any alignment, native or on the heap
     * @return what it describes
     * @throws IllegalArgumentException when the length is negative, or the memory would extend beyond 64 bits of address
     * @throws IndexOutOfBoundsException when the segment is shorter
     * @throws IllegalStateException when it is no longer alive
     * @throws WrongThreadException when it is confined to another thread
     */
    public static RemoteMemory readFrom(MemorySegment source) {
        Objects.checkFromIndexSize(0, BYTES, source.byteSize());
        return new RemoteMemory(source.get(LONG, 0), source.get(INT, RKEY), source.get(LONG, LENGTH));
    }

    /**
     * Reads the binary form at the position of a buffer, and advances the position by {@value #BYTES}.
     *
     * @param source the buffer; its byte order does not matter
     * @return what it describes
     * @throws IllegalArgumentException when the length is negative, or the memory would extend beyond 64 bits of
     *     address; the position does not change
     * @throws IndexOutOfBoundsException when it has fewer bytes remaining
     */
    public static RemoteMemory readFrom(ByteBuffer source) {
        RemoteMemory memory = readFrom(MemorySegment.ofBuffer(source));
        source.position(source.position() + BYTES);
        return memory;
    }

    /**
     * Parses a line that {@link #toString()} wrote.
     *
     * @param line such as {@code 00007f3c5a401000:0000a3b4:65536}; surrounding white space is ignored
     * @return what it describes
     * @throws IllegalArgumentException when the line is malformed, the length does not fit into 63 bits, or the memory
     *     would extend beyond 64 bits of address
     */
    @CheckReturnValue
    public static RemoteMemory parse(String line) {
        if (line.length() > MAX_LINE) {
            throw new IllegalArgumentException(
                    "not remote memory: line must not be longer than " + MAX_LINE + " characters: " + line.length());
        }
        Matcher matcher = LINE.matcher(line.strip());
        if (!matcher.matches()) {
            throw wrong(line, "it must be ADDRESS:KEY:LENGTH, with address and key in hexadecimal");
        }
        long length;
        try {
            length = Long.parseLong(matcher.group(3));
        } catch (NumberFormatException e) {
            throw wrong(line, "the length must be less than 2^63");
        }
        return new RemoteMemory(
                Long.parseUnsignedLong(matcher.group(1), 16), Integer.parseUnsignedInt(matcher.group(2), 16), length);
    }

    /** Quotes the peer's text without the characters that could disturb a terminal or a log. */
    private static IllegalArgumentException wrong(String line, String why) {
        return new IllegalArgumentException("not remote memory: '" + line.replaceAll("\\P{Print}", "?") + "'; " + why);
    }

    /** The line that {@link #parse} reads. */
    @Override
    public String toString() {
        return "%016x:%08x:%d".formatted(address, rkey, length);
    }
}
