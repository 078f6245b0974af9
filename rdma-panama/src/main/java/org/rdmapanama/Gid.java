package org.rdmapanama;

import java.io.Serializable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A global identifier: the 128-bit address of a port, {@code union ibv_gid}. On RoCE it is an IP address, an IPv4 one
 * in its IPv6-mapped form.
 *
 * @param subnetPrefix the first eight bytes as a number, most significant first
 * @param interfaceId the last eight bytes as a number, most significant first
 */
public record Gid(long subnetPrefix, long interfaceId) implements Serializable {
    /** Size in bytes. */
    public static final int BYTES = 16;

    /** All zero: no address. */
    public static final Gid ZERO = new Gid(0, 0);

    private static final ValueLayout.OfLong NETWORK_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final HexFormat HEX = HexFormat.of();
    private static final Pattern TEXT = Pattern.compile("[0-9a-fA-F]{32}|([0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}");

    /**
     * The GID of an IP address.
     *
     * @param address IPv4, which is mapped, or IPv6
     * @return its GID
     */
    public static Gid of(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (bytes.length == BYTES) {
            return of(bytes);
        }
        return new Gid(
                0,
                0xffff_0000_0000L
                        | Integer.toUnsignedLong(ByteBuffer.wrap(bytes).getInt()));
    }

    /**
     * The GID of sixteen bytes in network order.
     *
     * @param bytes sixteen of them
     * @return the GID
     * @throws IllegalArgumentException when there are not sixteen
     */
    public static Gid of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a GID has " + BYTES + " bytes, not " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Gid(buffer.getLong(), buffer.getLong());
    }

    /**
     * Reads a GID as {@link #toString()} or {@link #toHex()} writes it.
     *
     * @param text an IPv6 address without abbreviation or 32 hexadecimal digits
     * @return the GID
     * @throws IllegalArgumentException when it is neither
     */
    public static Gid parse(String text) {
        if (TEXT.matcher(text).matches()) {
            return of(HEX.parseHex(text.replace(":", "")));
        }
        throw new IllegalArgumentException(
                "not a GID: '" + text + "'; eight groups of four hexadecimal digits make one");
    }

    static Gid read(MemorySegment segment, long offset) {
        return new Gid(segment.get(NETWORK_LONG, offset), segment.get(NETWORK_LONG, offset + Long.BYTES));
    }

    void write(MemorySegment segment, long offset) {
        segment.set(NETWORK_LONG, offset, subnetPrefix);
        segment.set(NETWORK_LONG, offset + Long.BYTES, interfaceId);
    }

    /**
     * Whether nothing is in here.
     *
     * @return true when all bytes are zero
     */
    public boolean isZero() {
        return subnetPrefix == 0 && interfaceId == 0;
    }

    /**
     * Whether this is an IPv4 address in IPv6 form.
     *
     * @return true for ::ffff:a.b.c.d
     */
    public boolean isIpv4Mapped() {
        return subnetPrefix == 0 && interfaceId >>> 32 == 0xffff;
    }

    /**
     * Whether this is made of an IPv4 address: mapped, or as soft0 makes it where it has another UDP port than RoCE's,
     * which then stands in front.
     */
    boolean carriesIpv4() {
        return subnetPrefix >>> 16 == 0 && interfaceId >>> 32 == 0xffff;
    }

    /** The IP address that this is made of on RoCE. */
    InetAddress ipAddress() {
        return (carriesIpv4() ? new Gid(0, interfaceId) : this).toInetAddress();
    }

    /**
     * Whether this is valid on its own link only.
     *
     * @return true for fe80::/10
     */
    public boolean isLinkLocal() {
        return subnetPrefix >>> 54 == 0xfe80 >>> 6;
    }

    /**
     * Whether this is a multicast group.
     *
     * @return true for ff00::/8, and for IPv4 groups in IPv6 form, ::ffff:224.0.0.0 and up
     */
    public boolean isMulticast() {
        return subnetPrefix >>> 56 == 0xff || (isIpv4Mapped() && (interfaceId >>> 28 & 0xf) == 0xe);
    }

    /**
     * The bytes in network order.
     *
     * @return sixteen of them, fresh
     */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .putLong(subnetPrefix)
                .putLong(interfaceId)
                .array();
    }

    /**
     * The IP address that this is on RoCE.
     *
     * @return IPv4 when this is mapped from it, else IPv6
     */
    public InetAddress toInetAddress() {
        try {
            return InetAddress.getByAddress(toBytes());
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * The 32 hexadecimal digits that the programs of rdma-core exchange.
     *
     * @return the digits, in lower case
     */
    public String toHex() {
        return HEX.formatHex(toBytes());
    }

    /** Eight groups of four hexadecimal digits, as ibv_devinfo and sysfs write them. */
    @Override
    public String toString() {
        return toHex().replaceAll("(.{4})(?!$)", "$1:");
    }
}
