package org.rdmapanama;

import java.io.Serializable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a peer must know to connect to a queue pair: it goes to the other side by any means, such as a socket.
 *
 * <p>{@link #toString()} is the line that rdma-core's ping-pong programs exchange: LID, queue pair number, packet
 * sequence number and GID in hexadecimal, with colons between.
 *
 * @param lid local identifier of the port on InfiniBand, 0 to 65535; 0 on Ethernet
 * @param queuePairNumber 24 bits
 * @param packetSequenceNumber 24 bits: the number of the first packet that this side will send
 * @param gid address of the port; {@link Gid#ZERO} where LIDs are enough
 */
public record Endpoint(int lid, int queuePairNumber, int packetSequenceNumber, Gid gid) implements Serializable {
    private static final int MAX_24_BITS = 0xff_ffff;
    private static final Pattern LINE =
            Pattern.compile("\\s*([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,6}):([0-9a-fA-F]{1,6}):([0-9a-fA-F]{32})\\s*");

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the GID is null
     */
    public Endpoint {
        check("LID", lid, 0xffff);
        check("queue pair number", queuePairNumber, MAX_24_BITS);
        check("packet sequence number", packetSequenceNumber, MAX_24_BITS);
        if (gid == null) {
            throw new NullPointerException("gid");
        }
    }

    private static void check(String name, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException(name + " must be between 0 and " + max + ", not " + value);
        }
    }

    /**
     * Reads what {@link #toString()} wrote.
     *
     * @param line such as {@code 0000:000011:3dd5a4:00000000000000000000ffff0a4d0001}
     * @return the endpoint
     * @throws IllegalArgumentException when the text is something else
     */
    public static Endpoint parse(String line) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not an endpoint (LID:QPN:PSN:GID in hexadecimal): '" + line + "'");
        }
        return new Endpoint(
                Integer.parseInt(matcher.group(1), 16),
                Integer.parseInt(matcher.group(2), 16),
                Integer.parseInt(matcher.group(3), 16),
                Gid.parse(matcher.group(4)));
    }

    /** The line that {@link #parse} reads. */
    @Override
    public String toString() {
        return "%04x:%06x:%06x:%s".formatted(lid, queuePairNumber, packetSequenceNumber, gid.toHex());
    }
}
