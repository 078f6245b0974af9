package org.rdmapanama.samples.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmapanama.samples.figures.LatencyRecord;

/** Tests of rstream, their results and their charts. */
class StreamTestTest {
    @TempDir
    private Path folder;

    private static StreamResult result(StreamTest test) {
        LatencyRecord latencies = null;
        if (test.isPingPong()) {
            latencies = new LatencyRecord(2);
            for (int i = 1; i <= 1000; i++) {
                latencies.record(i * 1000L);
            }
            latencies.complete();
        }
        return new StreamResult(test, 2_000_000_000L, latencies);
    }

    private static StreamSettings settings(List<StreamTest> tests) {
        return new StreamSettings(
                "there",
                null,
                7471,
                List.of(new StreamRound(tests, null)),
                1 << 19,
                null,
                SelectorProvider.provider(),
                Calls.SLEEPING_SELECTOR,
                false);
    }

    @Test
    void shouldKnowTheSizesOfRstream() {
        assertEquals(List.of(64, 4096, 65_536, 1_048_576), StreamTest.sizes(false));
        List<Integer> all = StreamTest.sizes(true);
        assertEquals(33, all.size());
        assertEquals(List.of(64, 128, 192, 256, 384), all.subList(0, 5));
        assertEquals(6 << 20, all.getLast());
    }

    @Test
    void shouldRepeatSmallTransfersMoreOften() {
        assertEquals(new StreamTest("64_lat", 64, 1, 100_000), StreamTest.latency(64));
        assertEquals(new StreamTest("1.5k_bw", 1536, 10_000, 1), StreamTest.bandwidth(1536));
        assertEquals(new StreamTest("64k_bw", 65_536, 1000, 1), StreamTest.bandwidth(65_536));
        assertEquals(new StreamTest("4m_lat", 4 << 20, 1, 100), StreamTest.latency(4 << 20));
        assertTrue(StreamTest.latency(64).isPingPong());
        assertFalse(StreamTest.bandwidth(64).isPingPong());
    }

    @Test
    void shouldWriteTheColumnsOfRstream() {
        // 2 x 1000 transfers of 64 KiB in 2 s.
        assertEquals(
                "64k_bw    64k     1k      1       125m        2.00s      0.52      1000.00",
                StreamText.line(result(StreamTest.bandwidth(65_536))));
        assertEquals(
                "64_lat    64      1       100k    12m         2.00s      0.05        10.00    250.11    495.10",
                StreamText.line(result(StreamTest.latency(64))));
        assertEquals(
                StreamText.HEADER.length(),
                StreamText.line(result(StreamTest.latency(64))).length());
        assertEquals("9.9k", StreamText.size(10_239));
        assertEquals("10k", StreamText.size(10_752));
        assertEquals("3g", StreamText.size(3L << 30));
        assertEquals("2m", StreamText.count(2_999_999));
    }

    @Test
    void shouldPlotEverySize() throws Exception {
        List<StreamTest> tests = new ArrayList<>();
        StreamTest.sizes(true).forEach(each -> tests.add(StreamTest.latency(each)));
        StreamTest.sizes(true).forEach(each -> tests.add(StreamTest.bandwidth(each)));
        Path file = folder.resolve("a.svg");
        StreamPlot.draw(
                file,
                settings(tests),
                tests.stream().map(StreamTestTest::result).toList());
        String latency = Files.readString(file);
        assertTrue(latency.contains("sockets over TCP, a selector that sleeps"), latency);
        assertTrue(latency.contains("latency in µs"), latency);
        assertEquals(2 * 33, points(latency), latency);
        String bandwidth = Files.readString(folder.resolve("a-bw.svg"));
        assertTrue(bandwidth.contains("bandwidth in MiB/s"), bandwidth);
        assertEquals(33, points(bandwidth), bandwidth);
    }

    private static int points(String svg) {
        return svg.split("[ML]\\d", -1).length - 1;
    }

    @Test
    void shouldPlotADistribution() throws Exception {
        List<StreamTest> tests = List.of(new StreamTest("custom", 64, 1, 1000));
        Path file = folder.resolve("a.svg");
        StreamPlot.draw(file, settings(tests), List.of(result(tests.getFirst())));
        assertTrue(Files.readString(file).contains("sockets over TCP, a selector that sleeps, 64 B"));
        assertTrue(Files.readString(file).contains("percentile"));
        assertFalse(Files.exists(folder.resolve("a-bw.svg")));
    }
}
