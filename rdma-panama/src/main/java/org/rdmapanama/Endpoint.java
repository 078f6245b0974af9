package org.rdmapanama;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a peer must know to connect to a queue pair: it goes to the other side by any means, such as a socket.
 *
 * <p>{@link #toString()} writes it as one line, and {@link #parse} reads it. The line begins as the one that rdma-core's
 * ping-pong programs exchange, with LID, queue pair number, packet sequence number and GID in hexadecimal and colons
 * between. What else this side has told follows by name, each with a semicolon in front:
 *
 * <pre>0000:000011:3dd5a4:00000000000000000000ffff0a4d0001;gid=roce2;mtu=1024;initiator=16;target=16</pre>
 *
 * <table>
 * <caption>The names</caption>
 * <tr><td>{@code gid}</td><td>type of the GID: {@code ib}, {@code roce1} or {@code roce2}</td></tr>
 * <tr><td>{@code mtu}</td><td>largest path MTU, in bytes</td></tr>
 * <tr><td>{@code initiator}</td><td>RDMA reads and atomics that this side has outstanding at most</td></tr>
 * <tr><td>{@code target}</td><td>RDMA reads and atomics that this side answers at once</td></tr>
 * </table>
 *
 * <p>Each of them may be missing, as all are in the line of a C program. A name that is not known is ignored, so that
 * later versions can add some. {@link #toPingPongLine()} writes the line for a C program.
 *
 * @param lid local identifier of the port on InfiniBand, 0 to 65535; 0 on Ethernet
 * @param queuePairNumber 24 bits
 * @param packetSequenceNumber 24 bits: the number of the first packet that this side will send
 * @param gid address of the port; {@link Gid#ZERO} where LIDs are enough
 * @param gidType what the GID belongs to; {@link GidType#UNKNOWN} when this side did not tell
 * @param pathMtu the largest path MTU that this side takes; null when it did not tell
 * @param maxReadAtomicAsInitiator how many RDMA reads and atomics this side has outstanding at most, 0 to 255;
 *     {@link #UNKNOWN} when it did not tell
 * @param maxReadAtomicAsTarget how many RDMA reads and atomics of its peer this side answers at once, 0 to 255;
 *     {@link #UNKNOWN} when it did not tell
 */
public record Endpoint(
        int lid,
        int queuePairNumber,
        int packetSequenceNumber,
        Gid gid,
        GidType gidType,
        Mtu pathMtu,
        int maxReadAtomicAsInitiator,
        int maxReadAtomicAsTarget)
        implements Serializable {
    /** Stands for a number of reads and atomics that the side did not tell. */
    public static final int UNKNOWN = -1;

    /** Length of the longest line that {@link #parse} reads, in characters. */
    public static final int MAX_LINE = 256;

    private static final int MAX_24_BITS = 0xff_ffff;
    private static final int MAX_READ_ATOMIC = 0xff;
    private static final Pattern LINE = Pattern.compile(
            "([0-9a-fA-F]{1,4}):([0-9a-fA-F]{1,6}):([0-9a-fA-F]{1,6}):([0-9a-fA-F]{32})((?:;[a-z]+=[0-9A-Za-z.-]+)*)");
    private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");
    private static final Map<GidType, String> GID_TYPES =
            Map.of(GidType.IB, "ib", GidType.ROCE_V1, "roce1", GidType.ROCE_V2, "roce2");

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the GID or its type is null
     */
    public Endpoint {
        check("LID", lid, 0, 0xffff);
        check("queue pair number", queuePairNumber, 0, MAX_24_BITS);
        check("packet sequence number", packetSequenceNumber, 0, MAX_24_BITS);
        check("maxReadAtomicAsInitiator", maxReadAtomicAsInitiator, UNKNOWN, MAX_READ_ATOMIC);
        check("maxReadAtomicAsTarget", maxReadAtomicAsTarget, UNKNOWN, MAX_READ_ATOMIC);
        Objects.requireNonNull(gid, "gid");
        Objects.requireNonNull(gidType, "gidType");
    }

    /**
     * What a ping-pong program of rdma-core tells: neither the type of the GID nor the path MTU nor how many reads.
     *
     * @param lid local identifier of the port on InfiniBand, 0 to 65535; 0 on Ethernet
     * @param queuePairNumber 24 bits
     * @param packetSequenceNumber 24 bits: the number of the first packet that this side will send
     * @param gid address of the port; {@link Gid#ZERO} where LIDs are enough
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the GID is null
     */
    public Endpoint(int lid, int queuePairNumber, int packetSequenceNumber, Gid gid) {
        this(lid, queuePairNumber, packetSequenceNumber, gid, GidType.UNKNOWN, null, UNKNOWN, UNKNOWN);
    }

    private static void check(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ", not " + value);
        }
    }

    /**
     * Reads what {@link #toString()} or {@link #toPingPongLine()} wrote, or a ping-pong program of rdma-core.
     *
     * @param line such as {@code 0000:000011:3dd5a4:00000000000000000000ffff0a4d0001}; space around it is ignored
     * @return the endpoint
     * @throws IllegalArgumentException when the text is something else, names something twice, has a value out of its
     *     range, or is longer than {@value #MAX_LINE} characters
     */
    public static Endpoint parse(String line) {
        if (line.length() > MAX_LINE) {
            throw new IllegalArgumentException(
                    "not an endpoint: the line must not be longer than " + MAX_LINE + " characters: " + line.length());
        }
        Matcher matcher = LINE.matcher(line.strip());
        if (!matcher.matches()) {
            throw wrong(line, "LID:QPN:PSN:GID in hexadecimal make one, and ';name=value' behind it");
        }
        Map<String, String> told = new HashMap<>();
        for (String each : matcher.group(5).split(";", -1)) {
            int equals = each.indexOf('=');
            if (equals > 0 && told.put(each.substring(0, equals), each.substring(equals + 1)) != null) {
                throw wrong(line, "it must not name " + each.substring(0, equals) + " twice");
            }
        }
        return new Endpoint(
                Integer.parseInt(matcher.group(1), 16),
                Integer.parseInt(matcher.group(2), 16),
                Integer.parseInt(matcher.group(3), 16),
                Gid.parse(matcher.group(4)),
                gidType(line, told.get("gid")),
                pathMtu(line, told.get("mtu")),
                readAtomic(line, "initiator", told),
                readAtomic(line, "target", told));
    }

    /** The peer's text, without what would spoil a terminal or a log. */
    private static IllegalArgumentException wrong(String line, String why) {
        return new IllegalArgumentException("not an endpoint: '" + line.replaceAll("\\P{Print}", "?") + "'; " + why);
    }

    private static GidType gidType(String line, String name) {
        if (name == null) {
            return GidType.UNKNOWN;
        }
        return GID_TYPES.entrySet().stream()
                .filter(each -> each.getValue().equals(name))
                .findFirst()
                .orElseThrow(() -> wrong(line, "gid must be ib, roce1 or roce2, not " + name))
                .getKey();
    }

    private static Mtu pathMtu(String line, String bytes) {
        if (bytes == null) {
            return null;
        }
        try {
            return Mtu.ofBytes(number(bytes));
        } catch (IllegalArgumentException e) {
            throw wrong(line, "mtu must be 256, 512, 1024, 2048 or 4096, not " + bytes);
        }
    }

    private static int readAtomic(String line, String name, Map<String, String> told) {
        String count = told.get(name);
        if (count == null) {
            return UNKNOWN;
        }
        int number = number(count);
        if (number < 0 || number > MAX_READ_ATOMIC) {
            throw wrong(line, name + " must be between 0 and " + MAX_READ_ATOMIC + ", not " + count);
        }
        return number;
    }

    /** The number that decimal digits stand for, or -1 when it is something else, or too long to be right. */
    private static int number(String digits) {
        return NUMBER.matcher(digits).matches() ? Integer.parseInt(digits) : -1;
    }

    /**
     * The line that rdma-core's ping-pong programs exchange: always of the same length, and without what they do not
     * know.
     *
     * @return LID, queue pair number, packet sequence number and GID: 51 characters
     */
    public String toPingPongLine() {
        return "%04x:%06x:%06x:%s".formatted(lid, queuePairNumber, packetSequenceNumber, gid.toHex());
    }

    /** The line that {@link #parse} reads, with all that is known. */
    @Override
    public String toString() {
        StringBuilder line = new StringBuilder(toPingPongLine());
        if (gidType != GidType.UNKNOWN) {
            line.append(";gid=").append(GID_TYPES.get(gidType));
        }
        if (pathMtu != null) {
            line.append(";mtu=").append(pathMtu.bytes());
        }
        if (maxReadAtomicAsInitiator != UNKNOWN) {
            line.append(";initiator=").append(maxReadAtomicAsInitiator);
        }
        if (maxReadAtomicAsTarget != UNKNOWN) {
            line.append(";target=").append(maxReadAtomicAsTarget);
        }
        return line.toString();
    }
}
