package org.rdmapanama;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * An Ethernet address.
 *
 * @param bits its 48 bits as a number, the byte that is sent first in front
 */
public record MacAddress(long bits) implements Serializable {
    /** Size in bytes. */
    public static final int BYTES = 6;

    /** To everybody on the segment: all bits set. Also the mask that compares whole addresses. */
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
            throw new IllegalArgumentException("an Ethernet address has 48 bits: 0x" + Long.toHexString(bits));
        }
    }

    /**
     * The address of six bytes.
     *
     * @param bytes six of them, in the order in which they are sent
     * @return the address
     * @throws IllegalArgumentException when there are not six
     */
    public static MacAddress of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("an Ethernet address has " + BYTES + " bytes, not " + bytes.length);
        }
        byte[] wide = new byte[Long.BYTES];
        System.arraycopy(bytes, 0, wide, Long.BYTES - BYTES, BYTES);
        return new MacAddress(ByteBuffer.wrap(wide).getLong());
    }

    /**
     * Reads an address as {@link #toString()} writes it.
     *
     * @param text six pairs of hexadecimal digits with colons between them
     * @return the address
     * @throws IllegalArgumentException when it is something else
     */
    public static MacAddress parse(String text) {
        if (TEXT.matcher(text).matches()) {
            return of(HEX.parseHex(text));
        }
        throw new IllegalArgumentException(
                "not an Ethernet address: '" + text + "'; six pairs of hexadecimal digits with colons make one");
    }

    /**
     * Whether it stands for a group of interfaces.
     *
     * @return true for multicast addresses, and for the one of all
     */
    public boolean isMulticast() {
        return (bits >>> 40 & 1) != 0;
    }

    /**
     * The bytes in the order in which they are sent.
     *
     * @return six of them, fresh
     */
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
