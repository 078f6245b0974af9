package org.rdmapanama.bench.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.testing.Lab;

/** The table of {@code bin/bench sockets}, for few messages. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SocketBenchmarkLabTest {
    private static final Pattern ROW =
            Pattern.compile("\\| (.+?) +\\| +([\\d.]+) \\| +([\\d.]+) \\| +(\\d+) \\| +([\\d.]+) \\|");

    private static final Pattern SELECTING = Pattern.compile("\\| (.+), selecting \\| ([\\d.]+) \\| ([\\d.]+) \\|");

    /** In a process of its own, as it is used: what its sockets have left to send keeps the device open for a while. */
    @Test
    void shouldCompare() throws Exception {
        assumeFalse(Lab.isInLab(), "it takes more than a minute there");
        String out;
        try (Program benchmark = Program.java(
                List.of(),
                SocketBenchmark.class,
                "--rounds",
                "1",
                "--warmup",
                "0",
                "--pings",
                "20",
                "--channels",
                "20",
                "--host",
                Lab.SECOND_HOST,
                "--from",
                Lab.FIRST_HOST)) {
            benchmark.assertSucceeds();
            out = benchmark.output();
        }
        List<Matcher> rows =
                out.lines().map(ROW::matcher).filter(Matcher::matches).toList();
        List<String> titles = rows.stream().map(row -> row.group(1)).toList();
        assertEquals("SocketChannel over TCP, blocking", titles.getFirst());
        assertEquals("1.00", rows.getFirst().group(3));
        assertTrue(
                titles.containsAll(List.of(
                        "RSocketChannel, blocking", "RSocketChannel, registered", "Netty over TCP", "Netty over RDMA")),
                out);
        assertEquals(Runtime.getRuntime().availableProcessors() > 1, titles.contains("RSocketChannel, spinning"), out);
        for (Matcher row : rows) {
            assertTrue(Double.parseDouble(row.group(2)) > 0, out);
            assertTrue(Double.parseDouble(row.group(4)) > 0, out);
        }
        List<Matcher> selecting =
                out.lines().map(SELECTING::matcher).filter(Matcher::matches).toList();
        assertEquals(
                List.of("SocketChannel over TCP", "RSocketChannel"),
                selecting.stream().map(row -> row.group(1)).toList(),
                out);
        assertTrue(out.contains("| 1 of 10 channels, µs | 1 of 20 channels, µs |"), out);
        for (Matcher row : selecting) {
            assertTrue(Double.parseDouble(row.group(2)) > 0, out);
            assertTrue(Double.parseDouble(row.group(3)) > 0, out);
        }
    }
}
