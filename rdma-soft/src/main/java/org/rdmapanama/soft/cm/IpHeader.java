package org.rdmapanama.soft.cm;

import org.rdmapanama.soft.memory.Memory;

/**
 * The header before the private data of a request to a service with an IP address and port. (Annex A11, RDMA IP CM
 * service.) An IPv4 address is in the last four of the sixteen bytes.
 */
public final class IpHeader {
    public static final int BYTES = 36;

    public static final int IPV4 = 4;
    public static final int IPV6 = 6;

    private static final int VERSION = 1;
    private static final int PORT = 2;
    private static final int SOURCE = 4;
    private static final int DESTINATION = 20;
    private static final int ADDRESS_BYTES = 16;

    private IpHeader() {}

    /** Writes it for two addresses of four, or of sixteen, bytes. */
    public static void write(long header, int sourcePort, byte[] source, byte[] destination) {
        Memory.zero(header, BYTES);
        Memory.putByte(header + VERSION, (byte) ((source.length == Integer.BYTES ? IPV4 : IPV6) << 4));
        Memory.putNetShort(header + PORT, (short) sourcePort);
        write(header + SOURCE, source);
        write(header + DESTINATION, destination);
    }

    private static void write(long at, byte... address) {
        for (int i = 0; i < address.length; i++) {
            Memory.putByte(at + ADDRESS_BYTES - address.length + i, address[i]);
        }
    }

    /** Returns whether the header has a known version and a known IP version. */
    public static boolean isValid(long header) {
        int ip = ipVersion(header);
        return Memory.getByte(header) == 0 && (ip == IPV4 || ip == IPV6);
    }

    public static int ipVersion(long header) {
        return Mad.unsignedByte(header + VERSION) >>> 4;
    }

    /** Returns the port number of the sender. */
    public static int sourcePort(long header) {
        return Short.toUnsignedInt(Memory.getNetShort(header + PORT));
    }

    /** Returns the address of the sender: four or sixteen bytes. */
    public static byte[] source(long header) {
        return read(header + SOURCE, ipVersion(header));
    }

    /** Returns the address of the receiver: four or sixteen bytes. */
    public static byte[] destination(long header) {
        return read(header + DESTINATION, ipVersion(header));
    }

    private static byte[] read(long at, int version) {
        byte[] address = new byte[version == IPV4 ? Integer.BYTES : ADDRESS_BYTES];
        for (int i = 0; i < address.length; i++) {
            address[i] = Memory.getByte(at + ADDRESS_BYTES - address.length + i);
        }
        return address;
    }
}
