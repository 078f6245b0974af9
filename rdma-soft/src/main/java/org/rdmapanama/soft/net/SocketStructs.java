package org.rdmapanama.soft.net;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import org.rdmapanama.soft.memory.Memory;

/** Converts socket addresses to and from struct sockaddr_in and sockaddr_in6. Stateless. */
public final class SocketStructs {
    public static final int AF_INET = 2;
    public static final int AF_INET6 = 10;

    /** Size of struct sockaddr_in, in bytes. */
    static final int IPV4_BYTES = 16;

    /** Size of struct sockaddr_in6, in bytes. */
    static final int IPV6_BYTES = 28;

    private static final int PORT = 2;
    private static final int IPV4 = 4;
    private static final int IPV6 = 8;
    private static final int ADDRESS_BYTES = 16;

    private SocketStructs() {}

    /** Reads an address; null if it belongs to another family. */
    public static InetSocketAddress read(long struct) {
        int family = Memory.getShort(struct);
        if (family != AF_INET && family != AF_INET6) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.allocate(family == AF_INET ? Integer.BYTES : ADDRESS_BYTES);
        if (family == AF_INET) {
            bytes.putInt(Memory.getNetInt(struct + IPV4));
        } else {
            bytes.putLong(Memory.getNetLong(struct + IPV6)).putLong(Memory.getNetLong(struct + IPV6 + Long.BYTES));
        }
        int port = Short.toUnsignedInt(Memory.getNetShort(struct + PORT));
        return new InetSocketAddress(ofBytes(bytes.array()), port);
    }

    /** Returns the IP address of four or sixteen bytes. */
    public static InetAddress ofBytes(byte... bytes) {
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }

    public static void write(InetSocketAddress address, long struct) {
        Memory.putNetShort(struct + PORT, (short) address.getPort());
        byte[] bytes = address.getAddress().getAddress();
        boolean version4 = address.getAddress() instanceof Inet4Address;
        Memory.putShort(struct, (short) (version4 ? AF_INET : AF_INET6));
        for (int i = 0; i < bytes.length; i++) {
            Memory.putByte(struct + (version4 ? IPV4 : IPV6) + i, bytes[i]);
        }
    }

    public static int length(InetSocketAddress address) {
        return address.getAddress() instanceof Inet4Address ? IPV4_BYTES : IPV6_BYTES;
    }
}
