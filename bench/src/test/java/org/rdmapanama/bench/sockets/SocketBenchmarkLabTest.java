package org.rdmapanama.bench.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Lab;
import picocli.CommandLine;

/** The table of {@code bin/bench sockets}, for few messages. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SocketBenchmarkLabTest {
    private static final Pattern ROW =
            Pattern.compile("\\| (.+?) +\\| +([\\d.]+) \\| +([\\d.]+) \\| +(\\d+) \\| +([\\d.]+) \\|");

    @Test
    void shouldCompare() {
        assumeFalse(Lab.isInLab(), "it takes more than a minute there");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine command = new CommandLine(new SocketBenchmark());
        command.setOut(new PrintWriter(out));
        command.setErr(new PrintWriter(err));
        int status = command.execute(
                "--rounds", "1", "--warmup", "0", "--pings", "20", "--host", Lab.SECOND_HOST, "--from", Lab.FIRST_HOST);
        assertEquals(0, status, () -> out.toString() + err);
        List<Matcher> rows = out.toString()
                .lines()
                .map(ROW::matcher)
                .filter(Matcher::matches)
                .toList();
        List<String> titles = rows.stream().map(row -> row.group(1)).toList();
        assertEquals("SocketChannel over TCP, blocking", titles.getFirst());
        assertEquals("1.00", rows.getFirst().group(3));
        assertTrue(
                titles.containsAll(List.of("RSocketChannel, blocking", "Netty over TCP", "Netty over RDMA")),
                out::toString);
        assertEquals(
                Runtime.getRuntime().availableProcessors() > 1,
                titles.contains("RSocketChannel, spinning"),
                out::toString);
        for (Matcher row : rows) {
            assertTrue(Double.parseDouble(row.group(2)) > 0, out::toString);
            assertTrue(Double.parseDouble(row.group(4)) > 0, out::toString);
        }
    }
}
