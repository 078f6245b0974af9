package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;
import org.rdmapanama.soft.memory.Memory;

/** The header of IPv4, without options, or of IPv6. */
final class IpHeader {
    static final int IPV4_BYTES = 20;
    static final int IPV6_BYTES = 40;
    static final int TCP = 6;
    static final int UDP = 17;

    private static final int DO_NOT_FRAGMENT = 0x4000;

    private IpHeader() {}

    /** Returns whether a header is one of IPv6. */
    static boolean isVersion6(ByteBuffer frame, int at) {
        return frame.get(at) >> 4 == 6;
    }

    /**
     * Writes the header of another packet with its addresses.
     *
     * @param from where that header begins
     * @param next what follows, TCP or UDP
     * @param bytes how many bytes follow
     */
    static void putLike(ByteBuffer frame, ByteBuffer other, int from, int next, int bytes) {
        int at = frame.position();
        boolean version6 = isVersion6(other, from);
        frame.put(other.slice(from, version6 ? IPV6_BYTES : IPV4_BYTES));
        if (version6) {
            frame.putShort(at + 4, (short) bytes).put(at + 6, (byte) next);
        } else {
            frame.putShort(at + 2, (short) (IPV4_BYTES + bytes)).put(at + 9, (byte) next);
            frame.putShort(at + 10, (short) 0);
            frame.putShort(at + 10, (short) InternetChecksum.of(frame, at, at + IPV4_BYTES, 0));
        }
    }

    static void show(FieldTable fields) {
        if (fields.next8() >> 4 == 4) {
            version4(fields);
        } else {
            version6(fields);
        }
    }

    private static void version4(FieldTable fields) {
        fields.header("IPv4");
        int tos = Memory.getByte(fields.address() + 1) & 0xff;
        fields.field(1, "version 4, header of 20 bytes");
        fields.field(1, "DSCP %d, ECN %d (3: a router was congested)", tos >> 2, tos & 3);
        fields.field(2, "%d bytes in all", fields.next16());
        fields.field(2, "identification %d", fields.next16());
        fields.field(2, fields.next16() == DO_NOT_FRAGMENT ? "must not be fragmented" : "may be fragmented");
        fields.field(1, "at most %d more routers", fields.next8());
        fields.field(1, "protocol %d is %s", fields.next8(), protocol(fields));
        fields.field(2, "checksum of this header");
        fields.field(4, "from %s", fields.nextAddress(4));
        fields.field(4, "to %s", fields.nextAddress(4));
    }

    private static void version6(FieldTable fields) {
        fields.header("IPv6");
        fields.field(4, "version 6, traffic class, flow label");
        fields.field(2, "%d bytes follow this header", fields.next16());
        fields.field(1, "next header %d is %s", fields.next8(), protocol(fields));
        fields.field(1, "at most %d more routers", fields.next8());
        fields.field(16, "from %s", fields.nextAddress(16));
        fields.field(16, "to %s", fields.nextAddress(16));
    }

    private static String protocol(FieldTable fields) {
        return fields.next8() == TCP ? "TCP" : "UDP";
    }
}
