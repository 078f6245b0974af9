package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;
import java.util.HexFormat;

/** The header of an Ethernet frame: two addresses, and what follows. */
final class EthernetHeader {
    static final int BYTES = 14;
    static final int IPV4 = 0x0800;
    static final int IPV6 = 0x86dd;
    static final int ROCE_V1 = 0x8915;

    private static final int ADDRESS_BYTES = 6;
    private static final HexFormat HEX = HexFormat.ofDelimiter(":");

    /** Addresses for examples: those that begin with 02 belong to no manufacturer. */
    private static final byte[] EXAMPLE_OF_A = {2, 0, 0, 0, 0, 0xa};

    private static final byte[] EXAMPLE_OF_B = {2, 0, 0, 0, 0, 0xb};

    private EthernetHeader() {}

    /** Writes the header that frames of the loopback interface have: it has no addresses. */
    static void putLoopback(ByteBuffer frame, int type) {
        frame.put(new byte[2 * ADDRESS_BYTES]).putShort((short) type);
    }

    /** Writes a header with addresses that are examples. */
    static void putExample(ByteBuffer frame, int type) {
        frame.put(EXAMPLE_OF_B).put(EXAMPLE_OF_A).putShort((short) type);
    }

    static void show(FieldTable fields, boolean loopback) {
        String remark = loopback ? ": the loopback interface has no address" : ", an example";
        fields.header("Ethernet");
        fields.field(ADDRESS_BYTES, "to %s%s", address(fields), remark);
        fields.field(ADDRESS_BYTES, "from %s%s", address(fields), remark);
        int type = fields.next16();
        fields.field(2, "EtherType 0x%04x is %s", type, name(type));
    }

    private static String address(FieldTable fields) {
        return HEX.formatHex(fields.next(ADDRESS_BYTES));
    }

    private static String name(int type) {
        return switch (type) {
            case IPV4 -> "IPv4";
            case IPV6 -> "IPv6";
            case ROCE_V1 -> "RoCE v1";
            default -> throw new IllegalArgumentException("EtherType " + type);
        };
    }
}
