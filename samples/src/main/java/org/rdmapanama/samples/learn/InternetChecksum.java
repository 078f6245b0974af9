package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;

/** The checksum of IPv4 and TCP: the complement of the sum of all pairs of bytes, whose carries are added again (RFC 1071). */
final class InternetChecksum {
    private InternetChecksum() {}

    /**
     * Returns the checksum of the bytes between two indices.
     *
     * @param more what is added to them
     */
    static int of(ByteBuffer bytes, int from, int to, int more) {
        long sum = more;
        for (int at = from; at < to; at++) {
            int value = Byte.toUnsignedInt(bytes.get(at));
            sum += (at - from) % 2 == 0 ? value << Byte.SIZE : value;
        }
        while (sum >> Short.SIZE != 0) {
            sum = (sum & 0xffff) + (sum >> Short.SIZE);
        }
        return (int) (~sum & 0xffff);
    }
}
