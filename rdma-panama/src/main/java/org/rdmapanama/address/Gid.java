package org.rdmapanama.address;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.Serializable;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.regex.Pattern;

/**
 * A global identifier: the 128-bit address of a port, {@code union ibv_gid}. On RoCE it is an IP address; an IPv4
 * address is in its IPv6-mapped form.
 *
 * @param subnetPrefix the first eight bytes as a number, most significant first
 * @param interfaceId the last eight bytes as a number, most significant first
 */
public record Gid(long subnetPrefix, long interfaceId) implements Serializable {
    /** Size in bytes. */
    public static final int BYTES = 16;

    /** All zero: no address. */
    public static final Gid ZERO = new Gid(0, 0);

    private static final HexFormat HEX = HexFormat.of();
    private static final Pattern TEXT = Pattern.compile("[0-9a-fA-F]{32}|([0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4}");

    /**
     * Returns the GID of an IP address.
     *
     * @param address an IPv4 address, which is mapped, or an IPv6 address
     * @return its GID
     */
    @CheckReturnValue
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
     * Returns the GID with sixteen bytes in network order.
     *
     * @param bytes the sixteen bytes
     * @return the GID
     * @throws IllegalArgumentException when there are not sixteen bytes
     */
    @CheckReturnValue
    public static Gid of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("bytes must be " + BYTES + " long: " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Gid(buffer.getLong(), buffer.getLong());
    }

    /**
     * Parses a GID as {@link #toString()} or {@link #toHex()} writes it.
     *
     * @param text an IPv6 address without abbreviation or 32 hexadecimal digits
     * @return the GID
     * @throws IllegalArgumentException when it is neither
     */
    @CheckReturnValue
    public static Gid parse(String text) {
        if (TEXT.matcher(text).matches()) {
            return of(HEX.parseHex(text.replace(":", "")));
        }
        throw new IllegalArgumentException(
                "text must be a GID, eight groups of four hexadecimal digits: '" + text + "'");
    }

    /** {@return whether all bytes are zero} */
    public boolean isZero() {
        return subnetPrefix == 0 && interfaceId == 0;
    }

    /** {@return whether this is an IPv4 address in IPv6-mapped form, ::ffff:a.b.c.d} */
    public boolean isIpv4Mapped() {
        return subnetPrefix == 0 && interfaceId >>> 32 == 0xffff;
    }

    /** {@return whether this is a link-local address, fe80::/10} */
    public boolean isLinkLocal() {
        return subnetPrefix >>> 54 == 0xfe80 >>> 6;
    }

    /**
     * {@return whether this is a multicast group: ff00::/8, or an IPv4 group in IPv6-mapped form, ::ffff:224.0.0.0 and
     * up}
     */
    public boolean isMulticast() {
        return subnetPrefix >>> 56 == 0xff || (isIpv4Mapped() && (interfaceId >>> 28 & 0xf) == 0xe);
    }

    /** {@return the sixteen bytes in network order, in a new array} */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES)
                .putLong(subnetPrefix)
                .putLong(interfaceId)
                .array();
    }

    /** {@return the IP address that this GID stands for on RoCE: IPv4 if it is mapped, otherwise IPv6} */
    public InetAddress toInetAddress() {
        try {
            return InetAddress.getByAddress(toBytes());
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /** {@return the 32 hexadecimal digits, in lower case, that the programs of rdma-core exchange} */
    public String toHex() {
        return HEX.formatHex(toBytes());
    }

    /** Eight groups of four hexadecimal digits, as ibv_devinfo and sysfs write them. */
    @Override
    public String toString() {
        return toHex().replaceAll("(.{4})(?!$)", "$1:");
    }
}
