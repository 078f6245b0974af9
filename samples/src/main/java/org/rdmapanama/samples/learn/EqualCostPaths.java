package org.rdmapanama.samples.learn;

import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.IntBinaryOperator;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.rdmapanama.soft.wire.UdpFlow;

/**
 * A model of a router with several paths of equal cost between two hosts (ECMP). It takes the path of a packet by a hash of
 * addresses, protocol and ports. Real ones compute other hashes of the same fields.
 */
final class EqualCostPaths {
    private static final int FROM = 0x0a000001;
    private static final int TO = 0x0a000002;
    private static final byte UDP = 17;
    private static final int FIELD_BYTES = 2 * Integer.BYTES + 1 + 2 * Short.BYTES;

    /** The numbers of queue pairs have 24 bits. */
    private static final int NUMBERS = 1 << 24;

    private static final int SEED = 1;
    private static final int SHOWN_PATHS = 4;
    private static final int SHOWN_CONNECTIONS = 64;
    private static final String CELL = "%5d";

    private final int paths;

    EqualCostPaths(int paths) {
        this.paths = paths;
    }

    /** Returns the path of the packets from a source port, from 0 on. */
    int path(int sourcePort) {
        ByteBuffer fields = ByteBuffer.allocate(FIELD_BYTES)
                .putInt(FROM)
                .putInt(TO)
                .put(UDP)
                .putShort((short) sourcePort)
                .putShort((short) UdpFlow.ROCE_PORT);
        CRC32 hash = new CRC32();
        hash.update(fields.flip());
        return (int) (hash.getValue() % paths);
    }

    /**
     * Returns how many connections take each path. Their queue pairs have random numbers, which are the same each time.
     *
     * @param port gives the source port for the numbers of the two queue pairs
     */
    int[] spread(int connections, IntBinaryOperator port) {
        SplittableRandom random = new SplittableRandom(SEED);
        int[] counts = new int[paths];
        for (int i = 0; i < connections; i++) {
            counts[path(port.applyAsInt(random.nextInt(NUMBERS), random.nextInt(NUMBERS)))]++;
        }
        return counts;
    }

    /** Returns the same port for every connection. */
    static int same(int queuePair, int other) {
        return UdpFlow.ROCE_PORT;
    }

    /** Returns a table of both. */
    static String table() {
        EqualCostPaths router = new EqualCostPaths(SHOWN_PATHS);
        return "ECMP, " + SHOWN_CONNECTIONS + " connections between two hosts with " + SHOWN_PATHS + " paths\n"
                + row("path", IntStream.rangeClosed(1, SHOWN_PATHS).toArray())
                + row("source port is a hash", router.spread(SHOWN_CONNECTIONS, UdpFlow::sourcePort))
                + row("one source port", router.spread(SHOWN_CONNECTIONS, EqualCostPaths::same));
    }

    private static String row(String title, int... cells) {
        StringBuilder row = new StringBuilder(String.format(Locale.ROOT, "  %-25s", title));
        for (int each : cells) {
            row.append(String.format(Locale.ROOT, CELL, each));
        }
        return row.append('\n').toString();
    }
}
