package org.rdmapanama.address;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * An Ethernet address.
 *
 * @param bits its 48 bits as a number, with the byte that is sent first as the most significant one
 */
public record MacAddress(long bits) implements Serializable {
    /** Size in bytes. */
    public static final int BYTES = 6;

    /** The broadcast address, with all bits set. It is also the mask that compares whole addresses. */
    public static final MacAddress BROADCAST = new MacAddress(0xffff_ffff_ffffL);

    private static final HexFormat HEX = HexFormat.ofDelimiter(":");
    private static final Pattern TEXT = Pattern.compile("([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}");

    /**
     * Checks the range.
     *
     * @throws IllegalArgumentException when there are more than 48 bits
     */
    public MacAddress {
        if (bits >>> 48 != 0) {
            throw new IllegalArgumentException("bits must have at most 48 bits: 0x" + Long.toHexString(bits));
        }
    }

    /**
     * Returns the address with the given six bytes.
     *
     * @param bytes the six bytes, in transmission order
     * @return the address
     * @throws IllegalArgumentException when there are not six bytes
     */
    @CheckReturnValue
    public static MacAddress of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("bytes must be " + BYTES + " long: " + bytes.length);
        }
        byte[] wide = new byte[Long.BYTES];
        System.arraycopy(bytes, 0, wide, Long.BYTES - BYTES, BYTES);
        return new MacAddress(ByteBuffer.wrap(wide).getLong());
    }

    /**
     * Parses an address as {@link #toString()} writes it.
     *
     * @param text six pairs of hexadecimal digits with colons between them
     * @return the address
     * @throws IllegalArgumentException when the text is malformed
     */
    @CheckReturnValue
    public static MacAddress parse(String text) {
        if (TEXT.matcher(text).matches()) {
            return of(HEX.parseHex(text));
        }
        throw new IllegalArgumentException(
                "text must be an Ethernet address, six pairs of hexadecimal digits separated by colons: '" + text
                        + "'");
    }

    /** {@return whether this is a multicast or broadcast address} */
    public boolean isMulticast() {
        return (bits >>> 40 & 1) != 0;
    }

    /** {@return the six bytes in transmission order, in a new array} */
    public byte[] toBytes() {
        byte[] bytes = new byte[BYTES];
        ByteBuffer.allocate(Long.BYTES).putLong(0, bits).get(Long.BYTES - BYTES, bytes);
        return bytes;
    }

    /** Six pairs of hexadecimal digits with colons between them, as ip(8) writes them. */
    @Override
    public String toString() {
        return HEX.formatHex(toBytes());
    }
}
