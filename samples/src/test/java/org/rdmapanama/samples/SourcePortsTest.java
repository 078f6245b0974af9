package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.soft.cm.Mad;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.wire.Bth;
import org.rdmapanama.soft.wire.UdpFlow;

/** The UDP ports that packets between two processes on two hosts come from. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SourcePortsTest {
    private static final String PORT = "18540";
    private static final int QUEUE_PAIRS = 8;
    private static final int IDENTIFICATION = 4;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;

    /** By chance two connections may share a port, but hardly all. */
    @ParameterizedTest
    @CsvSource({"0, 64", "2, 64", "0, 0"})
    void shouldBeThoseOfTheConnections(int address, String ports, @TempDir Path folder) throws Exception {
        Path capture = capture(folder, address, "source.ports", ports);
        Map<Integer, Set<Integer>> found = portsByQueuePair(capture);
        assertTrue(found.size() >= 2 * QUEUE_PAIRS, found::toString);
        found.forEach((queuePair, its) -> assertEquals(1, its.size(), () -> queuePair + " of " + found));
        Set<Integer> all = found.values().stream().flatMap(Set::stream).collect(Collectors.toCollection(TreeSet::new));
        if (ports.equals("0")) {
            assertEquals(Set.of(UdpFlow.ROCE_PORT), all);
        } else {
            assertTrue(all.size() > 1, all::toString);
            all.forEach(each -> assertTrue(each >= UdpFlow.FIRST_SOURCE_PORT, all::toString));
        }
    }

    /** The queue pairs are connected over TCP, and the packets say nothing of the kind of device that sends them. */
    @Test
    void shouldNotKeepPacketsFromBeingSentTogether(@TempDir Path folder) throws Exception {
        int[] together = new int[1];
        Set<Integer> ports = new TreeSet<>();
        try (CaptureFile capture = new CaptureFile(capture(folder, 0))) {
            capture.forEachInIp((ip, packet, bytes) -> {
                if (Bth.destinationQueuePair(packet) != Mad.QUEUE_PAIR) {
                    ports.add(sourcePort(ip));
                    // The kernel numbers those that it was given with one call.
                    together[0] += Memory.getNetShort(ip + IDENTIFICATION) == 0 ? 0 : 1;
                }
            });
        }
        assertTrue(together[0] > 0, "each packet was sent by itself");
        assertFalse(ports.contains(UdpFlow.ROCE_PORT), ports::toString);
    }

    /** Lets two hosts exchange packets with some settings. Returns what the server has captured. */
    private static Path capture(Path folder, int address, String... settings) throws Exception {
        SoftHosts.assumePossible();
        Path capture = folder.resolve("packets");
        try (SoftHosts hosts = new SoftHosts(settings);
                Program server = hosts.onServer("perf", "server", "--once", "-p", PORT, "--pcap", capture.toString())) {
            server.await("waiting for");
            try (Program client = hosts.onClient(
                    "4791",
                    "perf",
                    "write-bw",
                    SoftHosts.SERVER_ADDRESSES.get(address),
                    "-p",
                    PORT,
                    "-q",
                    Integer.toString(QUEUE_PAIRS),
                    "-n",
                    "50",
                    "--warmup",
                    "0")) {
                client.assertSucceeds();
            }
            server.assertSucceeds();
        }
        return capture;
    }

    /** The ports that packets come from, by the queue pair that they are for. */
    private static Map<Integer, Set<Integer>> portsByQueuePair(Path file) throws IOException {
        Map<Integer, Set<Integer>> ports = new HashMap<>();
        try (CaptureFile capture = new CaptureFile(file)) {
            capture.forEachInIp((ip, packet, bytes) -> {
                if (Bth.destinationQueuePair(packet) != Mad.QUEUE_PAIR) {
                    ports.computeIfAbsent(Bth.destinationQueuePair(packet), any -> new TreeSet<>())
                            .add(sourcePort(ip));
                }
            });
        }
        return ports;
    }

    private static int sourcePort(long ip) {
        long udp = ip + (Memory.getByte(ip) >> 4 == 4 ? IPV4_BYTES : IPV6_BYTES);
        return Short.toUnsignedInt(Memory.getNetShort(udp));
    }
}
