package org.rdmapanama.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.net.SocketBuffers;

/**
 * A process with 64 connections over a link of 100 Mbit/s, the loopback interface of a network of its own. Everything that
 * is sent arrives, so hardly anything may be sent twice.
 */
public final class SlowLink {
    private static final int FASTEST_KBIT = 100_000;

    /** What begins the network and, in it, the process. The queue has room for what all sockets may send. */
    static final List<String> COMMAND = List.of(
            "unshare",
            "--net",
            "sh",
            "-c",
            "ip link set lo up && tc qdisc add dev lo root tbf " + limits(FASTEST_KBIT) + " && exec \"$@\"",
            "sh");

    /** How many times as fast a link is as the next one that is tried, and how many are tried. */
    private static final int STEP = 4;

    private static final int STEPS = 3;

    private static final int PAIRS = 64;
    private static final int ROUNDS = 3;
    private static final int BYTES = 40_000;
    private static final Path INTERFACES = Path.of("/proc/net/dev");
    private static final int SENT_BYTES = 9;

    private SlowLink() {}

    private static String limits(int kilobits) {
        return "rate " + kilobits + "kbit burst 128kb limit 64mb";
    }

    /** Skips a test where this user may not make networks. */
    static void assumePossible() throws InterruptedException {
        boolean possible;
        try {
            possible = new ProcessBuilder(
                                    "unshare",
                                    "--net",
                                    "sh",
                                    "-c",
                                    "tc qdisc add dev lo root tbf rate 1mbit burst 64kb limit 1mb")
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException missing) {
            possible = false;
        }
        assumeTrue(possible, "a network of its own with a slow link needs root, unshare and tc");
    }

    /** With the name of a file for packets and a number of source ports, the sockets have the smallest send buffers. */
    public static void main(String... arguments) throws IOException {
        if (arguments.length > 0) {
            waitForRoom(Path.of(arguments[0]), arguments[1]);
            return;
        }
        long start = System.nanoTime();
        try (SoftPair pair = new SoftPair(QueuePairType.RC, new ConnectOptions(), "wire", "true")) {
            long before = sent();
            writeAndReadBack(pair);
            long sent = sent() - before;
            long needed = 2L * ROUNDS * PAIRS * BYTES;
            System.out.println(sent + " bytes on the wire for " + needed + " in "
                    + (System.nanoTime() - start) / 1_000_000 + " ms");
            assertTrue(sent > needed && sent < needed + needed / 2, () -> sent + " bytes for " + needed);
        }
    }

    private static void writeAndReadBack(SoftPair pair) {
        writeAndReadBack(pairs(pair));
    }

    private static ManyPairs pairs(SoftPair pair) {
        return new ManyPairs(pair, PAIRS, 2, new ConnectOptions());
    }

    private static void writeAndReadBack(ManyPairs pairs) {
        pairs.writeAndReadBack(ROUNDS, BYTES, Duration.ofSeconds(60));
    }

    /** Each packet that the device makes must arrive, however often the kernel has no room for it. */
    private static void waitForRoom(Path file, String sourcePorts) throws IOException {
        long refusals = SocketBuffers.refusals();
        long received;
        try (SoftPair pair = new SoftPair(
                QueuePairType.RC,
                new ConnectOptions(),
                "wire",
                "true",
                "pcap",
                file.toString(),
                "source.ports",
                sourcePorts)) {
            SoftDevice device =
                    SoftDevice.contextAt(pair.context.nativeAddress()).device();
            ManyPairs pairs = pairs(pair);
            new SocketBuffers(device.addresses(), device.wire()).shrinkSends();
            writeAndReadBack(pairs);
            int kilobits = FASTEST_KBIT;
            for (int step = 1; step < STEPS && SocketBuffers.refusals() - refusals <= PAIRS; step++) {
                // A processor that is too slow to fill the link, for example an emulated one, needs a slower link.
                kilobits /= STEP;
                Program.run("sh", "-c", "tc qdisc change dev lo root tbf " + limits(kilobits));
                writeAndReadBack(pairs);
            }
            received = device.wire().received();
            assertEquals(0, device.wire().unreachable(), "peers for which packets were given up");
        }
        long refused = SocketBuffers.refusals() - refusals;
        int made = CapturedPackets.of(file).size();
        System.out.println(received + " of " + made + " packets received, " + refused + " calls found no room");
        assertTrue(refused > PAIRS, () -> refused + " calls found no room");
        // Of each, an acknowledgement and a repetition may still be on their way.
        assertTrue(made - received <= 2 * PAIRS, () -> made - received + " packets got lost");
    }

    private static long sent() throws IOException {
        return Files.readAllLines(INTERFACES).stream()
                .map(line -> line.strip().split("\\s+", -1))
                .filter(fields -> fields[0].equals("lo:"))
                .mapToLong(fields -> Long.parseLong(fields[SENT_BYTES]))
                .sum();
    }
}
