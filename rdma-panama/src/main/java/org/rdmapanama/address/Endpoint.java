package org.rdmapanama.address;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.device.Mtu;

/**
 * The data that a peer needs to connect to a queue pair. Programs pass it to the other side by any means, such as a
 * socket.
 *
 * <p>{@link #toString()} writes it as one line, and {@link #parse} reads it. The line begins like the one that
 * rdma-core's ping-pong programs exchange, with LID, queue pair number, packet sequence number and GID in hexadecimal,
 * separated by colons. Further values follow by name, each after a semicolon:
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
 * <p>It does not contain the Q_Key of a datagram queue pair, which both sides must know ({@link ConnectOptions#qkey}).
 * For such a queue pair {@link #pathMtu} is the longest datagram that this side receives; longer ones are dropped
 * without notice to the sender.
 *
 * <p>Each named value may be missing, as all are in the line of a C program. Unknown names are ignored, so that later
 * versions can add some. {@link #toPingPongLine()} writes the line for a C program.
 *
 * @param lid local identifier of the port on InfiniBand, 0 to 65535; 0 on Ethernet
 * @param queuePairNumber 24 bits
 * @param packetSequenceNumber 24 bits: the number of the first packet that this side will send
 * @param gid address of the port; {@link Gid#ZERO} if LIDs are enough
 * @param gidType type of the GID; {@link GidType#UNKNOWN} if this side did not tell
 * @param pathMtu the largest path MTU that this side accepts; null if it did not tell
 * @param maxReadAtomicAsInitiator the maximum number of RDMA reads and atomics that this side has outstanding, 0 to
 *     255; {@link #UNKNOWN} if it did not tell
 * @param maxReadAtomicAsTarget the number of RDMA reads and atomics of its peer that this side answers at once, 0 to
 *     255; {@link #UNKNOWN} if it did not tell
 */
public record Endpoint(
        int lid,
        int queuePairNumber,
        int packetSequenceNumber,
        Gid gid,
        GidType gidType,
        @Nullable Mtu pathMtu,
        int maxReadAtomicAsInitiator,
        int maxReadAtomicAsTarget)
        implements Serializable {
    /** The number of reads and atomics of a side that did not tell it. */
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
     * Creates the endpoint of a ping-pong program of rdma-core, which has no GID type, path MTU or number of reads.
     *
     * @param lid local identifier of the port on InfiniBand, 0 to 65535; 0 on Ethernet
     * @param queuePairNumber 24 bits
     * @param packetSequenceNumber 24 bits: the number of the first packet that this side will send
     * @param gid address of the port; {@link Gid#ZERO} if LIDs are enough
     * @throws IllegalArgumentException when a number is out of its range
     * @throws NullPointerException when the GID is null
     */
    public Endpoint(int lid, int queuePairNumber, int packetSequenceNumber, Gid gid) {
        this(lid, queuePairNumber, packetSequenceNumber, gid, GidType.UNKNOWN, null, UNKNOWN, UNKNOWN);
    }

    private static void check(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(name + " must be between " + min + " and " + max + ": " + value);
        }
    }

    /**
     * Parses a line that {@link #toString()}, {@link #toPingPongLine()} or a ping-pong program of rdma-core wrote.
     *
     * @param line such as {@code 0000:000011:3dd5a4:00000000000000000000ffff0a4d0001}; surrounding white space is
     *     ignored
     * @return the endpoint
     * @throws IllegalArgumentException when the line is malformed, has a name twice or a value out of range, or is
     *     longer than {@value #MAX_LINE} characters
     */
    @CheckReturnValue
    public static Endpoint parse(String line) {
        if (line.length() > MAX_LINE) {
            throw new IllegalArgumentException(
                    "not an endpoint: line must not be longer than " + MAX_LINE + " characters: " + line.length());
        }
        Matcher matcher = LINE.matcher(line.strip());
        if (!matcher.matches()) {
            throw wrong(line, "it must be LID:QPN:PSN:GID in hexadecimal, optionally followed by ';name=value' pairs");
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

    /** Quotes the peer's text without the characters that could disturb a terminal or a log. */
    private static IllegalArgumentException wrong(String line, String why) {
        return new IllegalArgumentException("not an endpoint: '" + line.replaceAll("\\P{Print}", "?") + "'; " + why);
    }

    private static GidType gidType(String line, @Nullable String name) {
        if (name == null) {
            return GidType.UNKNOWN;
        }
        return GID_TYPES.entrySet().stream()
                .filter(each -> each.getValue().equals(name))
                .findFirst()
                .orElseThrow(() -> wrong(line, "gid must be ib, roce1 or roce2: " + name))
                .getKey();
    }

    private static @Nullable Mtu pathMtu(String line, @Nullable String bytes) {
        if (bytes == null) {
            return null;
        }
        try {
            return Mtu.ofBytes(number(bytes));
        } catch (IllegalArgumentException e) {
            throw wrong(line, "mtu must be 256, 512, 1024, 2048 or 4096: " + bytes);
        }
    }

    private static int readAtomic(String line, String name, Map<String, String> told) {
        String count = told.get(name);
        if (count == null) {
            return UNKNOWN;
        }
        int number = number(count);
        if (number < 0 || number > MAX_READ_ATOMIC) {
            throw wrong(line, name + " must be between 0 and " + MAX_READ_ATOMIC + ": " + count);
        }
        return number;
    }

    /** Returns the value of decimal digits, or -1 if the text is something else or too long. */
    private static int number(String digits) {
        return NUMBER.matcher(digits).matches() ? Integer.parseInt(digits) : -1;
    }

    /**
     * {@return the line that rdma-core's ping-pong programs exchange: LID, queue pair number, packet sequence number
     * and GID, always 51 characters}
     */
    public String toPingPongLine() {
        return "%04x:%06x:%06x:%s".formatted(lid, queuePairNumber, packetSequenceNumber, gid.toHex());
    }

    /** The line that {@link #parse} reads, with all known values. */
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
